namespace Shop.Quiet
{
    using Shop.Hosting;

    /// <summary>A web service that nobody asks.</summary>
    [Load("web-idle")]
    static class NightShift
    {
        public static Task Start() => Web.Serve(app => app.MapGet("/", () => "open"), "/", 0);
    }

    /// <summary>Jobs by timers: each of the three kinds of timer, and a hosted service that waits for its end.</summary>
    [Load("timers-idle")]
    sealed class Housekeeping : BackgroundService
    {
        static readonly List<object> Keep = new();

        public static Task Start()
        {
            Keep.Add(new Timer(_ => Tidy(), null, 200, 200));
            var ticking = new System.Timers.Timer(300);
            ticking.Elapsed += (_, _) => Tidy();
            ticking.Start();
            Keep.Add(ticking);
            return Web.Serve(services => services.AddHostedService<Housekeeping>(), app => app.MapGet("/", () => ""), "/", 0, 0);
        }

        protected override async Task ExecuteAsync(CancellationToken stoppingToken)
        {
            _ = UntilStopped(stoppingToken);
            using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(250));
            while (await timer.WaitForNextTickAsync(stoppingToken))
                Tidy();
        }

        static async Task UntilStopped(CancellationToken stoppingToken)
        {
            var stopped = new TaskCompletionSource();
            using var registration = stoppingToken.Register(() => stopped.SetResult());
            await stopped.Task;
        }

        static void Tidy() => GC.KeepAlive(DateTime.UtcNow.ToString());
    }
}

namespace Shop.Queues
{
    using System.Collections.Concurrent;
    using System.Threading.Channels;
    using Shop.Hosting;
    using Shop.Simulation;

    /// <summary>Twenty consumers of one BlockingCollection, for which there is little to do: they wait in turn for work.</summary>
    [Load("queue-consumers")]
    static class Mailroom
    {
        static readonly BlockingCollection<int> Letters = new();

        public static void Start()
        {
            for (int i = 0; i < 20; i++)
                Service.Thread("mail-" + i, () =>
                {
                    foreach (int letter in Letters.GetConsumingEnumerable())
                        GC.KeepAlive(DemandModel.Step(letter % 100));
                });
            int number = 0;
            Service.Every("post", 50, () => Letters.Add(number++));
        }
    }

    /// <summary>Monitor.Wait and Pulse, as before there were collections for it: consumers that wait are not blocked.</summary>
    [Load("queue-pulse")]
    sealed class WorkList
    {
        readonly Queue<int> work = new();

        public static void Start()
        {
            var list = new WorkList();
            for (int i = 0; i < 8; i++)
                Service.Every("worker-" + i, 0, () => GC.KeepAlive(list.Take()));
            Service.Every("giver", 100, () => list.Give(1));
        }

        int Take()
        {
            lock (work)
            {
                while (work.Count == 0)
                    Monitor.Wait(work);
                return work.Dequeue();
            }
        }

        void Give(int item)
        {
            lock (work)
            {
                work.Enqueue(item);
                Monitor.Pulse(work);
            }
        }
    }

    /// <summary>Channels with readers that wait: 200 subscribers, a message now and then to each.</summary>
    [Load("queue-channels")]
    static class Subscribers
    {
        static readonly List<Channel<string>> All = new();

        public static void Start()
        {
            for (int i = 0; i < 200; i++)
            {
                var channel = Channel.CreateUnbounded<string>();
                All.Add(channel);
                _ = Read(channel.Reader);
            }
            int next = 0;
            Service.Every("publisher", 20, () => All[next++ % All.Count].Writer.TryWrite("news"));
        }

        static async Task Read(ChannelReader<string> reader)
        {
            await foreach (string message in reader.ReadAllAsync())
                GC.KeepAlive(message);
        }
    }
}

namespace Shop.Locks
{
    using Shop.Hosting;
    using Shop.Simulation;

    /// <summary>A lock that is taken a million times a second, by one thread mostly and by another now and then.</summary>
    [Load("lock-million")]
    sealed class HitCounter
    {
        long hits;

        public static void Start()
        {
            var counter = new HitCounter();
            Service.Every("hits", 1, () => { for (int i = 0; i < 4000; i++) counter.Hit(); });
            Service.Every("hits-2", 3, () => { for (int i = 0; i < 1000; i++) counter.Hit(); });
            Service.Every("show", 100, () => { lock (counter) GC.KeepAlive(counter.hits.ToString()); });
        }

        void Hit()
        {
            lock (this)
                hits++;
        }
    }

    /// <summary>Two locks, always in the same order, and one of them more than once; Monitor.TryEnter with an end where the order differs.</summary>
    [Load("lock-ordered")]
    static class TwoShelves
    {
        static readonly object Upper = new(), Lower = new();

        public static void Start()
        {
            for (int i = 0; i < 4; i++)
                Service.Every("shelf-" + i, 3, Move);
            Service.Every("stock-taking", 20, () =>
            {
                lock (Lower)
                    if (Monitor.TryEnter(Upper, 5))
                        Monitor.Exit(Upper);
            });
        }

        static void Move()
        {
            lock (Upper)
            lock (Upper)
            lock (Lower)
                GC.KeepAlive(DemandModel.Step(500));
        }
    }

    /// <summary>SemaphoreSlim as a limit that is never reached for long, and a SpinLock.</summary>
    [Load("lock-throttle")]
    static class Throttle
    {
        static readonly SemaphoreSlim AtMost = new(8);
        static SpinLock spin;

        public static void Start() => Service.Requests(100, async _ =>
        {
            await AtMost.WaitAsync();
            try
            {
                bool taken = false;
                spin.Enter(ref taken);
                spin.Exit();
                await Task.Delay(30);
            }
            finally
            {
                AtMost.Release();
            }
        });
    }

    /// <summary>Six threads compute in step: whoever is ready first waits at the barrier.</summary>
    [Load("lock-barrier")]
    static class GridModel
    {
        static readonly Barrier Step = new(6);

        public static void Start()
        {
            for (int i = 0; i < 6; i++)
            {
                int rounds = 1000 * (i + 1);
                Service.Every("grid-" + i, 0, () => { GC.KeepAlive(DemandModel.Step(rounds)); Thread.Sleep(3); Step.SignalAndWait(); });
            }
        }
    }
}

namespace Shop.Network
{
    using System.Net;
    using System.Net.Sockets;
    using Shop.Hosting;
    using Shop.Simulation;

    /// <summary>One listener with threads for its few connections, which mostly say nothing: as it was done before async. All began at once.</summary>
    [Load("net-threads")]
    static class TillServer
    {
        public static void Start()
        {
            var listener = new TcpListener(IPAddress.Loopback, 0);
            listener.Start();
            var tills = new List<TcpClient>();
            Service.Thread("accept", () =>
            {
                while (true)
                {
                    var client = listener.AcceptTcpClient();
                    Service.Thread("till", () => Serve(client));
                }
            });
            for (int i = 0; i < 12; i++)
            {
                var till = new TcpClient();
                till.Connect((IPEndPoint)listener.LocalEndpoint);
                tills.Add(till);
            }
            int next = 0;
            Service.Every("sales", 100, () => tills[next++ % tills.Count].Client.Send("sale"u8));
        }

        static void Serve(TcpClient client)
        {
            var buffer = new byte[100];
            while (client.Client.Receive(buffer) > 0)
                GC.KeepAlive(DemandModel.Step(200));
        }
    }

    /// <summary>Sixty calls at a time to a slow service, all of them asynchronous: nobody is blocked.</summary>
    [Load("net-async")]
    static class Weather
    {
        static readonly HttpClient Http = new(new SocketsHttpHandler { MaxConnectionsPerServer = 100 });

        public static void Start()
        {
            int port = Elsewhere.Start();
            for (int i = 0; i < 60; i++)
                _ = Ask(port);
        }

        static async Task Ask(int port)
        {
            while (true)
                await Http.GetStringAsync($"http://127.0.0.1:{port}/300");
        }
    }

    /// <summary>A consumer of a broker has a thread of its own that reads from a socket, as clients of brokers have. Messages come each 400 ms.</summary>
    [Load("net-consumer")]
    static class BrokerClient
    {
        public static void Start()
        {
            int port = Elsewhere.Start();
            Service.Thread("broker", () =>
            {
                using var client = new TcpClient("127.0.0.1", port);
                using var reader = new StreamReader(client.GetStream());
                while (true)
                {
                    client.Client.Send("400\n"u8);
                    GC.KeepAlive(reader.ReadLine());
                }
            });
        }
    }

    /// <summary>A configuration that is read again each four seconds, by a worker that blocks for 150 ms: seldom enough.</summary>
    [Load("net-refresh")]
    static class Settings
    {
        static readonly HttpClient Http = new();

        public static void Start()
        {
            int port = Elsewhere.Start();
            var timer = new Timer(_ => GC.KeepAlive(Http.GetStringAsync($"http://127.0.0.1:{port}/150").Result), null, 100, 4000);
            Service.Every("keep", 2000, () => GC.KeepAlive(timer));
        }
    }
}

namespace Shop.Threads
{
    using System.Runtime.CompilerServices;
    using Shop.Hosting;
    using Shop.Simulation;

    /// <summary>Threads come and go: one for each job, some a second, none stays.</summary>
    [Load("threads-short")]
    static class JobRunner
    {
        public static void Start() => Service.Every("jobs", 80, () => Service.Thread("job", () => { GC.KeepAlive(DemandModel.Step(500)); Thread.Sleep(300); }));
    }

    /// <summary>Thirty threads at the start, one for each shop, that sleep between their rounds.</summary>
    [Load("threads-rounds")]
    static class ShopRounds
    {
        public static void Start()
        {
            for (int i = 0; i < 30; i++)
                Service.Every("shop-" + i, 700, () => GC.KeepAlive(DemandModel.Step(200)));
        }
    }

    /// <summary>Finalizers that have work, and do it.</summary>
    [Load("finalizer-works")]
    sealed class TempFile
    {
        readonly byte[] data = new byte[1000];

        ~TempFile() => GC.KeepAlive(DemandModel.Step(20 + data.Length % 3));

        public static void Start()
        {
            Service.Every("files", 5, Use);
            Service.Every("collect", 200, () => GC.Collect(0));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Use()
        {
            for (int i = 0; i < 20; i++)
                GC.KeepAlive(new TempFile());
        }
    }

    /// <summary>The pool was widened by much work at the start, and its workers have none since.</summary>
    [Load("pool-was-busy")]
    static class MorningRush
    {
        public static void Start()
        {
            ThreadPool.SetMinThreads(60, 4);
            Task.WaitAll(Enumerable.Range(0, 60).Select(_ => Task.Run(() => Thread.Sleep(200))).ToArray());
        }
    }

    /// <summary>The thread of the application waits for its end, as each service's does, and a library's for events that seldom come.</summary>
    [Load("threads-waiting")]
    static class EventPump
    {
        static readonly ManualResetEvent Stop = new(false);
        static readonly AutoResetEvent[] Events = Enumerable.Range(0, 6).Select(_ => new AutoResetEvent(false)).ToArray();

        public static void Start()
        {
            Service.Thread("main-loop", () => Stop.WaitOne());
            foreach (var one in Events)
                Service.Every("pump", 0, () => one.WaitOne());
            int next = 0;
            Service.Every("events", 500, () => Events[next++ % 6].Set());
        }
    }
}
