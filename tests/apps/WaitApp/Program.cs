// Threads whose waits are known: `WaitApp MODE [--seconds N]` brings its threads into it, prints {"ready":true, ...} and goes on with a progress line each
// second, and one {"waits":{kind: seconds},"t_s":...}: what the application has measured around its own blocking calls. The modes of class Sick wait where
// they should not, those of Healthy look like it and do not.
namespace Shop;

using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Text.Json;
using Checkout;

public static class Program
{
    static readonly Dictionary<string, Action> Modes = new()
    {
        ["monitor"] = Sick.Monitor, ["semaphore"] = Sick.Semaphore, ["rwlock"] = Sick.ReaderWriter, ["mutex"] = Sick.NamedMutex,
        ["starved"] = Sick.Starved, ["starved-lock"] = Sick.StarvedByLock, ["socket"] = Sick.Socket, ["pool-socket"] = Sick.PoolSocket,
        ["pipe"] = Sick.Pipe, ["console"] = Sick.ConsoleWrites, ["sleep"] = Sick.Sleep, ["mixed"] = Sick.Mixed, ["standstill"] = Sick.Standstill,
        ["burst"] = Sick.Burst, ["convoy"] = Sick.Convoy, ["slow-start"] = Startup.Run,
#if NET9_0_OR_GREATER
        ["lock"] = Sick.NewLock,
#endif
        ["idle"] = Healthy.Idle, ["consumers"] = Healthy.Consumers, ["timers"] = Healthy.Timers, ["long-polls"] = Healthy.LongPolls,
        ["uncontended"] = Healthy.Uncontended, ["own-threads"] = Healthy.OwnThreads, ["server"] = Healthy.Server, ["async-io"] = Healthy.AsyncIO,
        ["short-lock"] = Healthy.ShortLock,
    };

    public static int Main(string[] args)
    {
        if (args.Length == 0 || !Modes.TryGetValue(args[0], out var mode))
        {
            Console.Error.WriteLine("usage: WaitApp MODE [--seconds N]; modes: " + string.Join(" ", Modes.Keys));
            return 2;
        }
        mode();
        Start("ticker", () => { for (; ; Thread.Sleep(20)) Progress.Count(); });
        Progress.Ready(args[0]);
        Start("truth", Truth.Report);
        int at = Array.IndexOf(args, "--seconds");
        Progress.Report(at >= 0 ? int.Parse(args[at + 1]) : int.MaxValue).Wait();
        return 0;
    }

    public static void Start(string name, Action body) => new Thread(() => body(), 512 * 1024) { IsBackground = true, Name = name }.Start();

    public static void StartMany(int count, string name, Action body)
    {
        for (int i = 0; i < count; i++)
            Start(name + "-" + i, body);
    }
}

/// <summary>A server that answers each byte with one after a while.</summary>
public sealed class SlowServer
{
    readonly System.Net.Sockets.TcpListener listener = new(System.Net.IPAddress.Loopback, 0);
    readonly int milliseconds;

    public SlowServer(int milliseconds)
    {
        this.milliseconds = milliseconds;
        listener.Start();
        _ = Accept();
    }

    async Task Accept()
    {
        for (; ; )
            _ = Serve(await listener.AcceptTcpClientAsync());
    }

    async Task Serve(System.Net.Sockets.TcpClient client)
    {
        var stream = client.GetStream();
        byte[] one = new byte[1];
        while (await stream.ReadAsync(one) == 1)
        {
            await Task.Delay(milliseconds);
            await stream.WriteAsync(one);
        }
    }

    public System.Net.Sockets.NetworkStream Connect()
    {
        var client = new System.Net.Sockets.TcpClient();
        client.Connect((System.Net.IPEndPoint)listener.LocalEndpoint);
        client.NoDelay = true;
        return client.GetStream();
    }
}

public static class Database
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Query(System.Net.Sockets.NetworkStream connection)
    {
        connection.WriteByte(1);
        Truth.Begin("socket");
        int got = connection.ReadByte();
        Truth.End();
        return got;
    }
}

public static class Orders
{
    static async Task<int> GetAsync(int milliseconds)
    {
        await Task.Delay(milliseconds);
        return 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Get(int milliseconds)
    {
        Truth.Begin("task");
        int got = GetAsync(milliseconds).Result;
        Truth.End();
        return got;
    }
}

public static class Cache
{
    static readonly object Gate = new();
    static readonly SemaphoreSlim Slim = new(1);
    static readonly ReaderWriterLockSlim ReaderWriter = new();
    static readonly Mutex Mutual = new();
#if NET9_0_OR_GREATER
    static readonly Lock New = new();
#endif

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Refresh(int milliseconds)
    {
        Truth.Begin("hold");
        Thread.Sleep(milliseconds);
        Truth.End();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void ByMonitor(int milliseconds)
    {
        Truth.Begin("lock");
        lock (Gate)
        {
            Truth.End();
            Refresh(milliseconds);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void BySemaphore(int milliseconds)
    {
        Truth.Begin("lock");
        Slim.Wait();
        Truth.End();
        Refresh(milliseconds);
        Slim.Release();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void ByReaderWriter(int milliseconds)
    {
        Truth.Begin("lock");
        ReaderWriter.EnterWriteLock();
        Truth.End();
        Refresh(milliseconds);
        ReaderWriter.ExitWriteLock();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void ByMutex(int milliseconds)
    {
        Truth.Begin("handle");
        Mutual.WaitOne();
        Truth.End();
        Refresh(milliseconds);
        Mutual.ReleaseMutex();
    }

#if NET9_0_OR_GREATER
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void ByNewLock(int milliseconds)
    {
        Truth.Begin("lock");
        lock (New)
        {
            Truth.End();
            Refresh(milliseconds);
        }
    }
#endif
}

public static class Sick
{
    static void Forever(Action body)
    {
        for (; ; Progress.Count())
            body();
    }

    /// <summary>Six threads that want one lock, which each holds for 3 ms.</summary>
    public static void Monitor() => Program.StartMany(6, "request", () => Forever(() => Cache.ByMonitor(3)));
    public static void Semaphore() => Program.StartMany(6, "request", () => Forever(() => Cache.BySemaphore(3)));
    public static void ReaderWriter() => Program.StartMany(6, "request", () => Forever(() => Cache.ByReaderWriter(3)));
    public static void NamedMutex() => Program.StartMany(6, "request", () => Forever(() => Cache.ByMutex(3)));
#if NET9_0_OR_GREATER
    public static void NewLock() => Program.StartMany(6, "request", () => Forever(() => Cache.ByNewLock(3)));
#endif

    /// <summary>Requests come faster than the pool's threads, which all block in Task.Result, let go.</summary>
    public static void Starved() => Program.Start("arrivals", () =>
    {
        for (; ; Thread.Sleep(20))
            if (ThreadPool.PendingWorkItemCount < 2000)
                for (int i = 0; i < 4; i++)
                    ThreadPool.QueueUserWorkItem(_ => { Orders.Get(400); Progress.Count(); });
    });

    /// <summary>Once in a while more requests come at once than the pool has threads for, and all block: the rest waits until threads are added.</summary>
    public static void Burst() => Program.Start("arrivals", () =>
    {
        for (; ; Thread.Sleep(2000))
            for (int i = 0; i < 60; i++)
                ThreadPool.QueueUserWorkItem(_ => { Orders.Get(300); Progress.Count(); });
    });

    static long convoyed;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Append()
    {
        lock (Table)
            for (int i = 0; i < 20_000; i++)
                convoyed += i;
    }

    /// <summary>Eight threads that need one lock for nearly all that they do: each holds it for some microseconds only, and all queue for it.</summary>
    public static void Convoy() => Program.StartMany(8, "writer", () => Forever(Append));

    /// <summary>The pool's threads wait for a lock whose holder waits for a database.</summary>
    public static void StarvedByLock()
    {
        var server = new SlowServer(100);
        Program.Start("holder", () => { var c = server.Connect(); Forever(() => { lock (Table) Database.Query(c); Thread.Yield(); }); });
        Program.Start("arrivals", () =>
        {
            for (; ; Thread.Sleep(20))
                if (ThreadPool.PendingWorkItemCount < 500)
                    ThreadPool.QueueUserWorkItem(_ => ReadTable());
        });
    }

    static readonly object Table = new();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ReadTable()
    {
        Truth.Begin("lock");
        lock (Table)
            Truth.End();
        Progress.Count();
    }

    public static void Socket()
    {
        var server = new SlowServer(20);
        Program.StartMany(4, "reader", () => { var c = server.Connect(); Forever(() => Database.Query(c)); });
    }

    static void OnPool(int count, Action body)
    {
        ThreadPool.SetMinThreads(count + 8, 8);
        for (int i = 0; i < count; i++)
            ThreadPool.QueueUserWorkItem(_ => body());
    }

    public static void PoolSocket()
    {
        var server = new SlowServer(20);
        OnPool(6, () => { var c = server.Connect(); Forever(() => Database.Query(c)); });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void WriteLine(Stream pipe, byte[] line)
    {
        Truth.Begin("file");
        pipe.Write(line);
        Truth.End();
    }

    /// <summary>Two threads write into a pipe that is read slowly.</summary>
    public static void Pipe()
    {
        var server = new System.IO.Pipes.AnonymousPipeServerStream(System.IO.Pipes.PipeDirection.Out);
        var client = new System.IO.Pipes.AnonymousPipeClientStream(System.IO.Pipes.PipeDirection.In, server.ClientSafePipeHandle);
        OnPool(2, () => { byte[] line = new byte[1000]; Forever(() => { lock (server) WriteLine(server, line); }); });
        Program.Start("drain", () => { byte[] page = new byte[4096]; for (; ; Thread.Sleep(10)) client.ReadExactly(page); });
    }

    [System.Runtime.InteropServices.DllImport("libc")] static extern int dup2(int from, int to);
    [System.Runtime.InteropServices.DllImport("libc")] static extern int pipe(int[] ends);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Log(string text)
    {
        Truth.Begin("console");
        Console.Error.WriteLine(text);
        Truth.End();
    }

    /// <summary>The pool's threads write to standard error, which is read slowly.</summary>
    public static void ConsoleWrites()
    {
        int[] ends = new int[2];
        if (pipe(ends) != 0 || dup2(ends[1], 2) != 2)
            throw new InvalidOperationException("no pipe");
        var read = new FileStream(new Microsoft.Win32.SafeHandles.SafeFileHandle((IntPtr)ends[0], true), FileAccess.Read, 1);
        Program.Start("drain", () => { byte[] page = new byte[4096]; for (; ; Thread.Sleep(10)) read.ReadExactly(page); });
        string text = new('x', 1000);
        OnPool(4, () => Forever(() => Log(text)));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Retry(int milliseconds)
    {
        Truth.Begin("sleep");
        Thread.Sleep(milliseconds);
        Truth.End();
    }

    public static void Sleep() => OnPool(5, () => Forever(() => Retry(30)));

    /// <summary>Four workers of the pool that wait for a task 40 ms, for a socket 30 ms, sleep 20 ms, and for a lock that another holds 10 ms.</summary>
    public static void Mixed()
    {
        var server = new SlowServer(30);
        OnPool(4, () =>
        {
            var c = server.Connect();
            Forever(() => { Orders.Get(40); Database.Query(c); Retry(20); Cache.ByMonitor(0); });
        });
        Program.Start("holder", () => { for (; ; Thread.Sleep(1)) Cache.ByMonitor(10); });
    }

    /// <summary>Workers of the pool that have been waiting for a task for ever: none of them makes a switch.</summary>
    public static void Standstill()
    {
        var never = new TaskCompletionSource<int>();
        ThreadPool.SetMinThreads(12, 4);
        for (int i = 0; i < 10; i++)
            ThreadPool.QueueUserWorkItem(_ => WaitFor(never.Task));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int WaitFor(Task<int> task) => task.Result;
}

public static class Healthy
{
    public static void Idle() { }

    /// <summary>Threads and tasks that wait for work that seldom comes.</summary>
    public static void Consumers()
    {
        var queue = new System.Collections.Concurrent.BlockingCollection<int>();
        var channel = System.Threading.Channels.Channel.CreateUnbounded<int>();
        Program.StartMany(4, "consumer", () => { foreach (int _ in queue.GetConsumingEnumerable()) Progress.Count(); });
        for (int i = 0; i < 4; i++)
            Task.Run(async () => { await foreach (int _ in channel.Reader.ReadAllAsync()) Progress.Count(); });
        for (int i = 0; i < 3; i++)
            Task.Factory.StartNew(() => { foreach (int _ in queue.GetConsumingEnumerable()) Progress.Count(); }, TaskCreationOptions.LongRunning);
        Program.Start("producer", () => { for (int i = 0; ; i++, Thread.Sleep(100)) { queue.Add(i); channel.Writer.TryWrite(i); } });
    }

    static readonly List<Timer> Kept = new();

    public static void Timers()
    {
        for (int i = 0; i < 50; i++)
            Kept.Add(new Timer(_ => Progress.Count(), null, i, 100));
    }

    public static void LongPolls()
    {
        for (int i = 0; i < 5000; i++)
            _ = Task.Delay(600_000);
        for (int i = 0; i < 100; i++)
            Task.Run(async () => { for (; ; Progress.Count()) await Task.Delay(50); });
    }

    static long total;

    /// <summary>One thread takes a lock a million times a second; nobody else wants it.</summary>
    public static void Uncontended()
    {
        object gate = new();
        Program.Start("adder", () => { for (; ; ) lock (gate) total++; });
    }

    /// <summary>Threads of the application that wait to be told, or pace themselves.</summary>
    public static void OwnThreads()
    {
        var told = new AutoResetEvent(false);
        var slim = new ManualResetEventSlim();
        object monitor = new();
        Program.StartMany(3, "told", () => { for (; ; Progress.Count()) told.WaitOne(); });
        Program.StartMany(3, "slim", () => slim.Wait());
        Program.StartMany(3, "paced", () => { for (; ; Progress.Count()) Thread.Sleep(200); });
        Program.StartMany(2, "pulsed", () => { lock (monitor) for (; ; Progress.Count()) System.Threading.Monitor.Wait(monitor); });
        Program.Start("boss", () => { for (; ; Thread.Sleep(50)) { told.Set(); lock (monitor) System.Threading.Monitor.Pulse(monitor); } });
    }

    /// <summary>A thread in a blocking accept, another in a read from standard input, a watcher of files.</summary>
    public static void Server()
    {
        var listener = new System.Net.Sockets.TcpListener(System.Net.IPAddress.Loopback, 0);
        listener.Start();
        Program.Start("accept", () => { for (; ; ) listener.AcceptTcpClient().Dispose(); });
        Program.Start("input", () => { while (Console.In.ReadLine() != null) Progress.Count(); Thread.Sleep(-1); });
    }

    /// <summary>What Sick.Socket does, with await.</summary>
    public static void AsyncIO()
    {
        var server = new SlowServer(20);
        for (int i = 0; i < 50; i++)
            Task.Run(async () =>
            {
                var c = server.Connect();
                byte[] one = new byte[1];
                for (; ; Progress.Count())
                {
                    await c.WriteAsync(one);
                    await c.ReadExactlyAsync(one);
                }
            });
    }

    /// <summary>A lock that eight workers of the pool take for some microseconds each 5 ms.</summary>
    public static void ShortLock()
    {
        object gate = new();
        for (int i = 0; i < 8; i++)
            Task.Run(async () =>
            {
                for (; ; Progress.Count(), await Task.Delay(5))
                    lock (gate)
                        for (int k = 0; k < 500; k++)
                            total += k;
            });
    }
}
