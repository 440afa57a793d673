namespace Shop.Polls
{
    using System.Net;
    using System.Net.Sockets;
    using Shop.Hosting;

    /// <summary>5,000 browsers wait for news: each poll ends after three to six seconds, and comes again.</summary>
    [Load("polls-5000")]
    sealed class Newsroom
    {
        readonly object gate = new();
        List<TaskCompletionSource<string>> waiting = new();

        public static void Start()
        {
            var room = new Newsroom();
            for (int i = 0; i < 5000; i++)
                _ = room.Browser(i);
            Service.Every("editor", 1000, () => room.Publish("news"));
        }

        async Task Browser(int number)
        {
            while (true)
            {
                Task<string> next = Next();
                if (await Task.WhenAny(next, Task.Delay(3000 + number % 3000)) == next)
                    await Task.Delay(number % 500);
            }
        }

        Task<string> Next()
        {
            lock (gate)
            {
                var one = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
                waiting.Add(one);
                return one.Task;
            }
        }

        void Publish(string news)
        {
            List<TaskCompletionSource<string>> some;
            lock (gate)
            {
                some = waiting.Take(waiting.Count / 3).ToList();
                waiting.RemoveRange(0, some.Count);
            }
            some.ForEach(one => one.TrySetResult(news));
        }
    }

    /// <summary>500 connections that mostly say nothing, read asynchronously.</summary>
    [Load("polls-sockets")]
    static class Displays
    {
        static readonly List<TcpClient> Ends = new();

        public static void Start()
        {
            var listener = new TcpListener(IPAddress.Loopback, 0);
            listener.Start(600);
            _ = Accept(listener);
            for (int i = 0; i < 500; i++)
            {
                var client = new TcpClient();
                client.Connect((IPEndPoint)listener.LocalEndpoint);
                Ends.Add(client);
            }
        }

        static async Task Accept(TcpListener listener)
        {
            while (true)
                _ = Show(await listener.AcceptTcpClientAsync());
        }

        static async Task Show(TcpClient client)
        {
            var buffer = new byte[64];
            while (await client.GetStream().ReadAsync(buffer) > 0)
                GC.KeepAlive(buffer);
        }
    }

    /// <summary>A semaphore of three places before a slow service: a queue of dozens, which moves.</summary>
    [Load("polls-queue")]
    static class Pressing
    {
        static readonly SemaphoreSlim Presses = new(3);

        public static void Start()
        {
            for (int i = 0; i < 60; i++)
                _ = Shirts();
        }

        static async Task Shirts()
        {
            while (true)
            {
                await Presses.WaitAsync();
                await Task.Delay(15);
                Presses.Release();
            }
        }
    }

    /// <summary>Two connections, forty askers, and a service that answers: the queue for a connection moves.</summary>
    [Load("polls-connections")]
    static class Stocks
    {
        static readonly HttpClient Http = new(new SocketsHttpHandler { MaxConnectionsPerServer = 2 });

        public static void Start()
        {
            int port = Elsewhere.Start();
            for (int i = 0; i < 40; i++)
                _ = Ask(port);
        }

        static async Task Ask(int port)
        {
            while (true)
                await Http.GetStringAsync($"http://127.0.0.1:{port}/10");
        }
    }

    /// <summary>The first of two answers is taken: the other one comes later, or never, and nobody waits for it.</summary>
    [Load("polls-first")]
    static class Quickest
    {
        public static void Start() => Service.Requests(40, async number =>
        {
            Task<int> quick = Answer(20), slow = Answer(5000);
            GC.KeepAlive(await await Task.WhenAny(quick, slow) + number);
        });

        static async Task<int> Answer(int ms)
        {
            await Task.Delay(ms);
            return ms;
        }
    }

    /// <summary>Tasks that failed and were looked at, canceled ones, and completed ones that are kept.</summary>
    [Load("polls-kept")]
    static class Results
    {
        static readonly List<Task<int>> Done = new();
        static readonly List<Task> Failed = new();

        public static async Task Start()
        {
            for (int i = 0; i < 500; i++)
                Done.Add(Task.FromResult(i));
            for (int i = 0; i < 50; i++)
                Failed.Add(Fail());
            foreach (var one in Failed)
                try
                {
                    await one;
                }
                catch (InvalidOperationException)
                {
                }
            _ = Forever(new CancellationTokenSource().Token);
        }

        static async Task Fail()
        {
            await Task.Yield();
            throw new InvalidOperationException();
        }

        static Task Forever(CancellationToken token) => Task.Delay(Timeout.Infinite, token);
    }

    /// <summary>Readers of a bounded channel are as quick as its writers, which often find it full for a moment.</summary>
    [Load("polls-bounded")]
    static class Bakery
    {
        public static void Start()
        {
            var shelf = System.Threading.Channels.Channel.CreateBounded<int>(10);
            for (int i = 0; i < 20; i++)
                _ = Bake(shelf.Writer);
            _ = Sell(shelf.Reader);
        }

        static async Task Bake(System.Threading.Channels.ChannelWriter<int> shelf)
        {
            while (true)
                await shelf.WriteAsync(1);
        }

        static async Task Sell(System.Threading.Channels.ChannelReader<int> shelf)
        {
            while (true)
            {
                GC.KeepAlive(await shelf.ReadAsync());
                await Task.Delay(2);
            }
        }
    }
}

namespace Shop.Failures
{
    using Shop.Hosting;
    using Shop.Simulation;

    /// <summary>An exception each 300 ms, beside some work.</summary>
    [Load("fail-now-and-then")]
    static class Thermometer
    {
        public static void Start()
        {
            Service.Every("work", 2, () => GC.KeepAlive(DemandModel.Step(5000)));
            Service.Every("sensor", 300, () => GC.KeepAlive(Read()));
        }

        static double? Read()
        {
            try
            {
                return double.Parse("--");
            }
            catch (FormatException)
            {
                return null;
            }
        }
    }

    /// <summary>Requests that their clients cancel: some exceptions a second, as is their way.</summary>
    [Load("fail-canceled")]
    static class TypeAhead
    {
        public static void Start()
        {
            Service.Every("work", 2, () => GC.KeepAlive(DemandModel.Step(5000)));
            Service.Requests(6, async _ =>
            {
                using var cts = new CancellationTokenSource(50);
                try
                {
                    await Task.Delay(5000, cts.Token);
                }
                catch (OperationCanceledException)
                {
                }
            });
        }
    }

    /// <summary>400 exceptions when it starts, one for each optional file, and none since.</summary>
    [Load("fail-at-start")]
    static class OptionalFiles
    {
        public static void Start()
        {
            for (int i = 0; i < 400; i++)
                try
                {
                    File.ReadAllText("/nowhere/settings-" + i);
                }
                catch (DirectoryNotFoundException)
                {
                }
            Service.Every("work", 2, () => GC.KeepAlive(DemandModel.Step(5000)));
        }
    }

    /// <summary>A health check that fails each second, is logged, and is tried again: a dependency that is down, and not more.</summary>
    [Load("fail-health")]
    static class HealthProbe
    {
        public static void Start()
        {
            Service.Every("work", 2, () => GC.KeepAlive(DemandModel.Step(5000)));
            Service.Every("probe", 1000, () =>
            {
                try
                {
                    new System.Net.Sockets.TcpClient().Connect("127.0.0.1", 1);
                }
                catch (System.Net.Sockets.SocketException)
                {
                }
            });
        }
    }

    /// <summary>Answers by TryParse and TryGetValue: failures without exceptions.</summary>
    [Load("fail-politely")]
    static class Tolerant
    {
        static readonly Dictionary<string, int> Known = new();

        public static void Start() => Service.Every("rows", 1, () =>
        {
            for (int i = 0; i < 500; i++)
                if (!int.TryParse("x" + i, out int n) && !Known.TryGetValue("x", out n))
                    GC.KeepAlive(n);
        });
    }
}
