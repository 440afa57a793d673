// Locks that are no monitors: System.Threading.Lock (.NET 9 and newer), ReaderWriterLockSlim, SemaphoreSlim; and a lock whose holder waits for another machine.
namespace Shop;

using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using Checkout;

public static class OtherLocks
{
    /// <summary>Takes the first lock, waits for the others of `gate` to have theirs, and takes the second.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Exchange(Action first, Barrier gate, Action second)
    {
        first();
        gate.SignalAndWait();
        second();
        Progress.Count();
    }

    static object Circle(string name, params Action[] take)
    {
        var gate = new Barrier(take.Length);
        Program.Settle(Enumerable.Range(0, take.Length)
            .Select(i => Program.Start(name + "-" + i, () => Exchange(take[i], gate, take[(i + 1) % take.Length]))).ToArray());
        return new { circles = 1, threads = take.Length };
    }

    /// <summary>Two threads that hold a ReaderWriterLockSlim each for writing, and want the other's.</summary>
    public static object Writers()
    {
        ReaderWriterLockSlim a = new(), b = new();
        return Circle("writer", a.EnterWriteLock, b.EnterWriteLock);
    }

    /// <summary>One holds a ReaderWriterLockSlim to read and maybe write, and wants a monitor; who holds that wants the same of the other.</summary>
    public static object Upgrade()
    {
        var a = new ReaderWriterLockSlim();
        object gate = new();
        return Circle("upgrade", a.EnterUpgradeableReadLock, () => Monitor.Enter(gate));
    }

    /// <summary>A reader waits for the monitor of a thread that wants to write: which threads read, the lock does not say.</summary>
    public static object Shared()
    {
        var a = new ReaderWriterLockSlim();
        object gate = new();
        var both = new Barrier(2);
        Program.Settle([
            Program.Start("reader", () => Exchange(a.EnterReadLock, both, () => Monitor.Enter(gate))),
            Program.Start("writer", () => Exchange(() => Monitor.Enter(gate), both, a.EnterWriteLock))]);
        return new { circles = 0, threads = 2 };
    }

    /// <summary>Who may upgrade a ReaderWriterLockSlim wants to write, and waits for a reader that waits for its monitor.</summary>
    public static object Upgrader()
    {
        var a = new ReaderWriterLockSlim();
        object gate = new();
        var both = new Barrier(2);
        Program.Settle([
            Program.Start("reader", () => Exchange(a.EnterReadLock, both, () => Monitor.Enter(gate))),
            Program.Start("upgrader", () => Exchange(() => { a.EnterUpgradeableReadLock(); Monitor.Enter(gate); }, both, a.EnterWriteLock))]);
        return new { circles = 0, threads = 2 };
    }

    /// <summary>Two threads that use semaphores as locks: a semaphore does not know who holds it.</summary>
    public static object Semaphores()
    {
        SemaphoreSlim a = new(1), b = new(1);
        return Circle("semaphore", a.Wait, b.Wait);
    }

    /// <summary>Healthy: writers and readers that take turns all the time.</summary>
    public static object Scribes()
    {
        var book = new ReaderWriterLockSlim();
        long pages = 0;
        for (int i = 0; i < 3; i++)
            Program.Start("scribe-" + i, () => { for (;;) { book.EnterWriteLock(); pages++; book.ExitWriteLock(); } });
        for (int i = 0; i < 3; i++)
            Program.Start("reader-" + i, () => { for (;;) { book.EnterReadLock(); Interlocked.Read(ref pages); book.ExitReadLock(); } });
        return new { };
    }

    static async Task<int> LoadAsync()
    {
        await Task.Yield();
        return 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Load() => LoadAsync().Result;

    /// <summary>Each worker of the pool blocks on a task that needs another worker, and more of the same waits.</summary>
    public static object Exhausted()
    {
        ThreadPool.SetMinThreads(8, 4);
        ThreadPool.SetMaxThreads(8, 4);
        for (int i = 0; i < 40; i++)
            ThreadPool.QueueUserWorkItem(_ => Load());
        Thread.Sleep(1000);
        return new { workers = 8, queued = 32 };
    }

    /// <summary>Healthy: workers that wait for an order each, and nothing behind them.</summary>
    public static object Workers()
    {
        var never = new TaskCompletionSource<int>();
        ThreadPool.SetMinThreads(8, 4);
        for (int i = 0; i < 6; i++)
            ThreadPool.QueueUserWorkItem(_ => Await(never.Task));
        Thread.Sleep(500);
        return new { workers = 6 };
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Await(Task<int> order) => order.Result;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Query(object connection, NetworkStream stream)
    {
        lock (connection)
            stream.ReadByte();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Lookup(object connection)
    {
        lock (connection)
            Progress.Count();
    }

    /// <summary>Ten requests wait for a lock whose holder waits for the answer of a server that does not come.</summary>
    public static object Remote()
    {
        var server = new TcpListener(IPAddress.Loopback, 0);
        server.Start();
        int port = ((IPEndPoint)server.LocalEndpoint).Port;
        var client = new TcpClient("127.0.0.1", port);
        object connection = new();
        Thread query = Program.Start("query", () => Query(connection, client.GetStream()));
        while (Monitor.TryEnter(connection, 0)) // until the query has it
        {
            Monitor.Exit(connection);
            Thread.Sleep(1);
        }
        Program.Settle(Enumerable.Range(0, 10).Select(i => Program.Start("request-" + i, () => Lookup(connection))).ToArray());
        return new { queue = 10, port, query = query.ManagedThreadId };
    }

    /// <summary>Two that are deadlocked among 100 threads and 10,000 locks that were waited for once.</summary>
    public static object Crowd()
    {
        Healthy.Many();
        return Sick.Pair();
    }

#if NET9_0_OR_GREATER
    /// <summary>Two threads that hold a Lock each, and want the other's.</summary>
    public static object Locks()
    {
        Lock a = new(), b = new();
        return Circle("lock", a.Enter, b.Enter);
    }

    /// <summary>A circle over a Lock, a monitor and a ReaderWriterLockSlim.</summary>
    public static object Mixed()
    {
        Lock a = new();
        object b = new();
        var c = new ReaderWriterLockSlim();
        return Circle("mixed", a.Enter, () => Monitor.Enter(b), c.EnterWriteLock);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Refill(Lock cache, ManualResetEvent never, CountdownEvent held)
    {
        lock (cache)
        {
            held.Signal();
            never.WaitOne();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Use(Lock cache)
    {
        lock (cache)
            Progress.Count();
    }

    /// <summary>Ten requests wait for a Lock whose holder waits for what does not come.</summary>
    public static object LockQueue()
    {
        Lock cache = new();
        using var held = new CountdownEvent(1);
        var never = new ManualResetEvent(false);
        Program.Start("refiller", () => Refill(cache, never, held));
        held.Wait();
        Program.Settle(Enumerable.Range(0, 10).Select(i => Program.Start("request-" + i, () => Use(cache))).ToArray());
        return new { queue = 10 };
    }

    /// <summary>Healthy: four threads that take one Lock all the time.</summary>
    public static object LockBusy()
    {
        Lock shared = new();
        for (int i = 0; i < 4; i++)
            Program.Start("adder-" + i, () => { for (;;) Use(shared); });
        return new { };
    }

    /// <summary>Two threads that want each other's Lock, and will give up after ten minutes.</summary>
    public static object LockPatient()
    {
        Lock a = new(), b = new();
        return Circle("patient", () => a.TryEnter(600_000), () => b.TryEnter(600_000));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int TakeNext(Lock turn, BlockingCollection<int> orders)
    {
        lock (turn)
            return orders.Take();
    }

    /// <summary>Healthy: eight consumers that take from one queue in turn; an order comes every two minutes.</summary>
    public static object LockConsumers()
    {
        Lock turn = new();
        var orders = new BlockingCollection<int>();
        Program.Settle(Enumerable.Range(0, 8).Select(i => Program.Start("consumer-" + i, () => { for (;;) TakeNext(turn, orders); })).ToArray());
        Program.Start("customer", () => { for (int n = 0; ; n++) { Thread.Sleep(120_000); orders.Add(n); } });
        return new { consumers = 8 };
    }
#endif
}
