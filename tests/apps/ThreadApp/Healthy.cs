namespace Shop;

using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Checkout;

public static class Healthy
{
    static readonly List<object> Kept = [];

    public static object Idle() => new { };

    /// <summary>Consumers of a queue in which nothing is.</summary>
    public static object Consumers()
    {
        var queue = new BlockingCollection<int>();
        Program.Settle(Program.Start(40, "consumer", () => { foreach (int _ in queue.GetConsumingEnumerable()) Progress.Count(); }));
        return new { consumers = 40 };
    }

    /// <summary>Readers of a channel on threads of their own.</summary>
    public static object Channels()
    {
        var channel = Channel.CreateUnbounded<int>();
        Program.Settle(Program.Start(20, "reader", () => { for (;;) channel.Reader.ReadAsync().AsTask().GetAwaiter().GetResult(); }));
        for (int i = 0; i < 20; i++)
            Kept.Add(Task.Run(async () => { for (;;) await channel.Reader.ReadAsync(); }));
        return new { readers = 20 };
    }

    public static object Timers()
    {
        for (int i = 0; i < 50; i++)
            Kept.Add(new Timer(_ => Progress.Count(), null, 10 + i, 50 + i));
        return new { timers = 50 };
    }

    /// <summary>One thread that looks for work each ten minutes.</summary>
    public static object Scheduler()
    {
        Program.Settle([Program.Start("scheduler", () => { for (;; Thread.Sleep(TimeSpan.FromMinutes(10))) Progress.Count(); })]);
        return new { };
    }

    public static object Accept()
    {
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        Program.Start("accept", () => { for (;;) listener.AcceptTcpClient().Dispose(); });
        var other = new TcpListener(IPAddress.Loopback, 0);
        other.Start();
        Kept.Add(Task.Run(async () => { for (;;) (await other.AcceptTcpClientAsync()).Dispose(); }));
        Thread.Sleep(200);
        return new { };
    }

    /// <summary>A thread for each connection, made one after another, that waits for what the client sends.</summary>
    public static object Receive()
    {
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        for (int i = 0; i < 24; i++, Thread.Sleep(500))
        {
            var client = new TcpClient();
            client.Connect(IPAddress.Loopback, ((IPEndPoint)listener.LocalEndpoint).Port);
            TcpClient server = listener.AcceptTcpClient();
            Kept.Add(client);
            Program.Start("connection-" + i, () => { while (server.GetStream().ReadByte() >= 0) { } });
        }
        return new { connections = 24 };
    }

    public static object Watcher()
    {
        for (int i = 0; i < 3; i++)
            Kept.Add(new FileSystemWatcher(Path.GetTempPath()) { EnableRaisingEvents = true });
        Thread.Sleep(200);
        return new { };
    }

    /// <summary>Work that needed 50 workers at once; they idle now.</summary>
    public static object Burst()
    {
        ThreadPool.SetMinThreads(50, 4);
        Task.WaitAll(Enumerable.Range(0, 50).Select(_ => Task.Run(() => Thread.Sleep(300))).ToArray());
        return new { workers = 50 };
    }

    static Thread Request() => new(() => Thread.Sleep(200)) { IsBackground = true, Name = "request" };

    /// <summary>A thread for each request, 50 a second, that ends.</summary>
    public static object Churn()
    {
        for (int n = 0; n < 2; n++)
            Program.Start("accept-" + n, () => { for (;; Thread.Sleep(40)) Request().Start(); });
        Thread.Sleep(1000);
        return new { perSecond = 50 };
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Spin(int n)
    {
        for (long i = n; ; i++)
            if (i < 0)
                Progress.Count();
    }

    public static object Spinners()
    {
        for (int i = 0; i < 2; i++)
            Program.Start("spinner-" + i, () => Spin(i));
        return new { spinners = 2 };
    }

    /// <summary>Workers that wait to be told of work.</summary>
    public static object Pulse()
    {
        object queue = new();
        Program.Settle(Program.Start(500, "worker", () => { lock (queue) for (;;) Monitor.Wait(queue); }));
        return new { workers = 500 };
    }

    /// <summary>The same by events, one for each, and by a semaphore.</summary>
    public static object Signals()
    {
        Program.Settle(Program.Start(16, "own-event", () => { for (var work = new AutoResetEvent(false); ;) work.WaitOne(); }));
        var slim = new SemaphoreSlim(0);
        Program.Settle(Program.Start(30, "semaphore", () => { for (;;) slim.Wait(); }));
        return new { workers = 46 };
    }

    /// <summary>Threads that look whether they are to end each few minutes.</summary>
    public static object Waiters()
    {
        var end = new ManualResetEvent(false);
        for (int i = 0; i < 24; i++, Thread.Sleep(500))
            Program.Start("waiter-" + i, () => { while (!end.WaitOne(300_000)) Progress.Count(); });
        return new { };
    }

    class Finalized
    {
        ~Finalized() => Progress.Count();
    }

    /// <summary>Finalizers that run and end.</summary>
    public static object Finalizers()
    {
        Program.Start("maker", () => { for (;; Thread.Sleep(100)) { for (int i = 0; i < 1000; i++) new Finalized(); GC.Collect(0); } });
        return new { };
    }
}
