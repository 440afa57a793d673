namespace Shop.Hubs
{
    using System.Net.WebSockets;
    using System.Threading.Channels;
    using System.Threading.RateLimiting;
    using System.Threading.Tasks.Dataflow;
    using Shop.Hosting;
    using Shop.Simulation;

    /// <summary>A hub as of SignalR: 400 browsers each wait for the next event, which comes each two seconds; browsers come and go.</summary>
    [Load("patient-hub")]
    sealed class ScoreHub
    {
        TaskCompletionSource<int> next = new(TaskCreationOptions.RunContinuationsAsynchronously);
        int online;

        public static void Start()
        {
            var hub = new ScoreHub();
            for (int i = 0; i < 400; i++)
                _ = hub.WatchAsync(1000);
            Service.Requests(10, number => hub.WatchAsync(2 + number % 9));
            Service.Every("referee", 2000, hub.Goal);
        }

        async Task WatchAsync(int goals)
        {
            Interlocked.Increment(ref online);
            for (int i = 0; i < goals; i++)
                GC.KeepAlive(await Volatile.Read(ref next).Task);
            Interlocked.Decrement(ref online);
        }

        void Goal() => Interlocked.Exchange(ref next, new(TaskCreationOptions.RunContinuationsAsynchronously)).SetResult(online);
    }

    /// <summary>Thirty services in the background wait for work in their channels, some for hours; others tick.</summary>
    [Load("patient-services")]
    sealed class Nightly(IHostApplicationLifetime life) : BackgroundService
    {
        static readonly Channel<string> Work = Channel.CreateUnbounded<string>();

        public static Task Start() => Web.Serve(services =>
        {
            for (int i = 0; i < 30; i++)
                services.AddSingleton<IHostedService, Nightly>();
        }, app => app.MapGet("/", () => ""), "/", 0, 0);

        protected override async Task ExecuteAsync(CancellationToken stoppingToken)
        {
            var started = new TaskCompletionSource();
            using var registration = life.ApplicationStarted.Register(() => started.SetResult());
            await started.Task;
            _ = Tick(stoppingToken);
            while (await Work.Reader.WaitToReadAsync(stoppingToken))
                while (Work.Reader.TryRead(out string? item))
                    GC.KeepAlive(item);
        }

        static async Task Tick(CancellationToken stoppingToken)
        {
            using var timer = new PeriodicTimer(TimeSpan.FromSeconds(20));
            while (await timer.WaitForNextTickAsync(stoppingToken))
                Work.Writer.TryWrite("tick");
        }
    }

    /// <summary>A limiter in full use: eight at a time, and a hundred in its queue, which moves.</summary>
    [Load("patient-limiter")]
    static class LabelPrinter
    {
        static readonly ConcurrencyLimiter Limiter = new(new() { PermitLimit = 8, QueueLimit = 1000, QueueProcessingOrder = QueueProcessingOrder.OldestFirst });

        public static void Start()
        {
            for (int i = 0; i < 110; i++)
                _ = PrintAll();
        }

        static async Task PrintAll()
        {
            while (true)
            {
                using var lease = await Limiter.AcquireAsync();
                await Task.Delay(25);
            }
        }
    }

    /// <summary>A lock for asynchronous code whose owners give it back: a queue of forty, which moves.</summary>
    [Load("patient-lock")]
    static class StockRoom
    {
        static readonly Queue<TaskCompletionSource> Waiting = new();
        static bool taken;

        public static void Start()
        {
            for (int i = 0; i < 40; i++)
                _ = Work();
        }

        static Task EnterAsync()
        {
            lock (Waiting)
            {
                if (!taken)
                {
                    taken = true;
                    return Task.CompletedTask;
                }
                var turn = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                Waiting.Enqueue(turn);
                return turn.Task;
            }
        }

        static void Exit()
        {
            lock (Waiting)
            {
                if (Waiting.TryDequeue(out var next))
                    next.SetResult();
                else
                    taken = false;
            }
        }

        static async Task Work()
        {
            while (true)
            {
                await EnterAsync();
                await Task.Delay(20);
                Exit();
            }
        }
    }

    /// <summary>Forty consumers of blocks of the dataflow library wait for messages, one of which comes now and then.</summary>
    [Load("patient-blocks")]
    static class Assembly
    {
        static readonly List<BufferBlock<int>> Lines = new();

        public static void Start()
        {
            for (int i = 0; i < 40; i++)
            {
                var line = new BufferBlock<int>();
                Lines.Add(line);
                _ = i % 2 == 0 ? Take(line) : Watch(line);
            }
            int next = 0;
            Service.Every("parts", 3000, () => Lines[next++ % 40].Post(next));
        }

        static async Task Take(BufferBlock<int> line)
        {
            while (true)
                GC.KeepAlive(await line.ReceiveAsync());
        }

        static async Task Watch(BufferBlock<int> line)
        {
            while (await line.OutputAvailableAsync())
                while (line.TryReceive(out int part))
                    GC.KeepAlive(part);
        }
    }

    /// <summary>120 WebSockets that hardly say anything, both ends of them here.</summary>
    [Load("patient-sockets")]
    static class ChatRoom
    {
        static readonly List<ClientWebSocket> Clients = new();

        public static async Task Start()
        {
            await Web.Serve(app =>
            {
                app.UseWebSockets();
                app.Map("/chat", async (HttpContext context) => await Talk(await context.WebSockets.AcceptWebSocketAsync()));
            }, "/", 0);
            for (int i = 0; i < 120; i++)
            {
                var client = new ClientWebSocket();
                await client.ConnectAsync(new Uri($"ws://127.0.0.1:{Web.Port}/chat"), CancellationToken.None);
                Clients.Add(client);
                _ = Talk(client);
            }
            int next = 0;
            Service.Every("chat", 1500, () => Clients[next++ % 120].SendAsync("hello"u8.ToArray(), WebSocketMessageType.Text, true, default).Wait());
        }

        static async Task Talk(WebSocket socket)
        {
            var buffer = new byte[256];
            while (socket.State == WebSocketState.Open)
                GC.KeepAlive(await socket.ReceiveAsync(buffer, CancellationToken.None));
        }
    }

    /// <summary>Streams of events from another service, open for hours: forty, whose lines come seldom.</summary>
    [Load("patient-events")]
    static class StockEvents
    {
        static readonly HttpClient Http = new() { Timeout = Timeout.InfiniteTimeSpan };

        public static async Task Start()
        {
            await Web.Serve(app => app.MapGet("/events", async (HttpContext context) =>
            {
                for (int i = 0; ; i++)
                {
                    await context.Response.WriteAsync("data: " + i + "\n");
                    await context.Response.Body.FlushAsync();
                    await Task.Delay(TimeSpan.FromMinutes(5), context.RequestAborted);
                }
            }), "/", 0);
            for (int i = 0; i < 40; i++)
                _ = Follow();
        }

        static async Task Follow()
        {
            using var answer = await Http.GetAsync($"http://127.0.0.1:{Web.Port}/events", HttpCompletionOption.ResponseHeadersRead);
            using var reader = new StreamReader(await answer.Content.ReadAsStreamAsync());
            while (await reader.ReadLineAsync() is { } line)
                GC.KeepAlive(line);
        }
    }

    /// <summary>All ask for one token, which is fetched anew each two seconds and takes 800 ms: those that come meanwhile wait for the same task.</summary>
    [Load("patient-token")]
    static class TokenCache
    {
        static readonly HttpClient Http = new();
        static Task<string>? token;
        static int port;

        public static void Start()
        {
            port = Elsewhere.Start();
            Service.Every("expire", 2000, () => Volatile.Write(ref token, null));
            Service.Requests(60, async _ => GC.KeepAlive((await CallAsync()).Length));
        }

        static async Task<string> CallAsync() => "Bearer " + await (token ??= FetchAsync());

        static Task<string> FetchAsync() => Http.GetStringAsync($"http://127.0.0.1:{port}/800");
    }
}

namespace Shop.Crews
{
    using System.Collections.Concurrent;
    using System.Runtime.CompilerServices;
    using Shop.Hosting;
    using Shop.Simulation;

    /// <summary>A pool of the application's own: a thread is made when all others are busy, and each waits for work at an event of its own. It grew while
    /// the shop opened, has had much work since, and is quiet now.</summary>
    [Load("crew-own-pool")]
    static class Kitchen
    {
        sealed class Cook
        {
            readonly AutoResetEvent work = new(false);

            public void Begin() => Service.Thread("cook", Run);

            public void Give() => work.Set();

            void Run()
            {
                while (true)
                {
                    work.WaitOne();
                    GC.KeepAlive(DemandModel.Step(500));
                }
            }
        }

        static readonly ConcurrentBag<Cook> Cooks = new();

        public static void Start() => Service.Thread("opening", () =>
        {
            for (int i = 0; i < 20; i++)
            {
                var cook = new Cook();
                cook.Begin();
                Cooks.Add(cook);
                for (int n = 0; n < 60; n++, Thread.Sleep(10))
                    foreach (var one in Cooks)
                        one.Give();
            }
        });
    }

    /// <summary>A long-running consumer for each tenant. The tenants came one after another in the first seconds, and have little work.</summary>
    [Load("crew-tenants")]
    static class TenantQueues
    {
        public static void Start() => Service.Thread("sign-up", () =>
        {
            for (int i = 0; i < 16; i++, Thread.Sleep(500))
                _ = Task.Factory.StartNew(Consume, TaskCreationOptions.LongRunning);
        });

        static void Consume()
        {
            var queue = new BlockingCollection<int>();
            foreach (int item in queue.GetConsumingEnumerable())
                GC.KeepAlive(item);
        }
    }

    /// <summary>Workers that come with the load and leave two seconds after it: as many come as go.</summary>
    [Load("crew-elastic")]
    static class Couriers
    {
        public static void Start() => Service.Every("parcels", 100, () => Service.Thread("courier", () =>
        {
            using var more = new ManualResetEventSlim();
            GC.KeepAlive(DemandModel.Step(300));
            more.Wait(2000);
        }));
    }

    /// <summary>Finalizers that take their time: 20 ms each, and there are always some.</summary>
    [Load("crew-finalizers")]
    sealed class SharedFile
    {
        ~SharedFile() => Thread.Sleep(20);

        public static void Start() => Service.Every("files", 100, () =>
        {
            Use();
            GC.Collect(0);
        });

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Use()
        {
            for (int i = 0; i < 4; i++)
                GC.KeepAlive(new SharedFile());
        }
    }

    /// <summary>A batch in which all of the pool's workers have their part, one after another, with a thread that waits for each round.</summary>
    [Load("crew-parallel")]
    static class PriceGrid
    {
        public static void Start() => Service.Every("grid", 5, () => Parallel.For(0, 64, i => GC.KeepAlive(DemandModel.Step(500 + i))));
    }
}
