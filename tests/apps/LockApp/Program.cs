// Locks whose state is known: `LockApp MODE [--seconds N]` brings its threads into it, prints {"ready":true, ..., "details":{...}} and goes on with a
// progress line each second. The modes of class Sick are deadlocks or queues that do not move, those of Healthy look like it and are none.
namespace Shop;

using System.Runtime.CompilerServices;
using Checkout;

public static class Program
{
    static readonly Dictionary<string, Func<object>> Modes = new()
    {
        ["pair"] = Sick.Pair, ["ring"] = Sick.Ring, ["philosophers"] = Sick.Philosophers, ["two"] = Sick.Two, ["queue"] = Sick.Queue, ["behind"] = Sick.Behind,
        ["busy"] = Healthy.Busy, ["recursive"] = Healthy.Recursive, ["pulse"] = Healthy.Pulse, ["idle"] = Healthy.Idle, ["timeout"] = Healthy.Timeout,
        ["many"] = Healthy.Many, ["patient"] = Healthy.Patient, ["consumers"] = Healthy.Consumers, ["readers"] = Healthy.Readers, ["starved"] = Sick.Starved,
        ["writers"] = OtherLocks.Writers, ["upgrade"] = OtherLocks.Upgrade, ["shared"] = OtherLocks.Shared, ["semaphores"] = OtherLocks.Semaphores,
        ["scribes"] = OtherLocks.Scribes, ["remote"] = OtherLocks.Remote, ["upgrader"] = OtherLocks.Upgrader,
        ["exhausted"] = OtherLocks.Exhausted, ["workers"] = OtherLocks.Workers, ["crowd"] = OtherLocks.Crowd,
        ["task"] = TaskLocks.Delegate, ["taskbounded"] = TaskLocks.Bounded, ["taskcancel"] = TaskLocks.Cancelable, ["taskall"] = TaskLocks.All,
        ["taskasync"] = TaskLocks.Async, ["taskrun"] = TaskLocks.Unwrapped, ["taskparallel"] = TaskLocks.Parallel, ["taskdetour"] = TaskLocks.Detour,
        ["taskbegun"] = TaskLocks.Begun, ["taskleft"] = TaskLocks.Left, ["taskturns"] = TaskLocks.Turns, ["asyncturns"] = TaskLocks.AsyncTurns,
        ["taskchain"] = TaskLocks.Chain, ["throttle"] = TaskLocks.Throttle, ["belt"] = TaskLocks.Belt,
#if NET9_0_OR_GREATER
        ["locks"] = OtherLocks.Locks, ["mixed"] = OtherLocks.Mixed, ["lockqueue"] = OtherLocks.LockQueue, ["lockbusy"] = OtherLocks.LockBusy,
        ["lockpatient"] = OtherLocks.LockPatient, ["lockconsumers"] = OtherLocks.LockConsumers,
#endif
    };

    public static int Main(string[] args)
    {
        if (args.Length == 0 || !Modes.TryGetValue(args[0], out var mode))
        {
            Console.Error.WriteLine("usage: LockApp MODE [--seconds N]; modes: " + string.Join(" ", Modes.Keys));
            return 2;
        }
        object details = mode();
        new Thread(Tick) { IsBackground = true, Name = "ticker" }.Start();
        Progress.Ready(args[0], details);
        int at = Array.IndexOf(args, "--seconds");
        Progress.Report(at >= 0 ? int.Parse(args[at + 1]) : int.MaxValue).Wait();
        return 0;
    }

    static void Tick()
    {
        for (;; Thread.Sleep(1))
            Progress.Count();
    }

    /// <summary>A thread that has begun when this returns.</summary>
    public static Thread Start(string name, Action body)
    {
        using var begun = new ManualResetEventSlim();
        var thread = new Thread(() => { begun.Set(); body(); }, 256 * 1024) { IsBackground = true, Name = name };
        thread.Start();
        begun.Wait();
        return thread;
    }

    /// <summary>Until these threads wait.</summary>
    public static void Settle(IEnumerable<Thread> threads)
    {
        foreach (Thread t in threads)
            while ((t.ThreadState & ThreadState.WaitSleepJoin) == 0)
                Thread.Sleep(5);
        Thread.Sleep(50);
    }
}

public class Account(string name)
{
    public readonly string Name = name;
    public int Balance;

    /// <summary>Takes this account's lock, then the other's, as soon as all of `gate` have their first.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void TransferTo(Account other, Barrier gate)
    {
        lock (this)
        {
            gate.SignalAndWait();
            lock (other)
            {
                other.Balance++;
                Balance--;
            }
        }
    }
}

public static class Sick
{
    static Thread[] Circle(int count, string name)
    {
        var gate = new Barrier(count);
        var accounts = Enumerable.Range(0, count).Select(i => new Account(name + i)).ToArray();
        return Enumerable.Range(0, count).Select(i => Program.Start(name + "-" + i, () => accounts[i].TransferTo(accounts[(i + 1) % count], gate))).ToArray();
    }

    static object Deadlocked(params Thread[][] circles)
    {
        Program.Settle(circles.SelectMany(c => c));
        return new { circles = circles.Length, threads = circles.Sum(c => c.Length) };
    }

    public static object Pair() => Deadlocked(Circle(2, "transfer"));

    public static object Ring() => Deadlocked(Circle(3, "ring"));

    public static object Philosophers() => Deadlocked(Circle(5, "philosopher"));

    public static object Two() => Deadlocked(Circle(2, "left"), Circle(3, "right"));

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Refresh(object cache, ManualResetEvent never, CountdownEvent held)
    {
        lock (cache)
        {
            held.Signal();
            never.WaitOne();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Read(object cache)
    {
        lock (cache)
            Progress.Count();
    }

    /// <summary>Ten requests wait for a lock whose holder waits for what does not come.</summary>
    public static object Queue()
    {
        object cache = new();
        using var held = new CountdownEvent(1);
        var never = new ManualResetEvent(false);
        Program.Start("refresher", () => Refresh(cache, never, held));
        held.Wait();
        Program.Settle(Enumerable.Range(0, 10).Select(i => Program.Start("request-" + i, () => Read(cache))).ToArray());
        return new { queue = 10 };
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Take(object shelf, System.Collections.Concurrent.BlockingCollection<int> orders)
    {
        lock (shelf)
            return orders.Take();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Put(object shelf, System.Collections.Concurrent.BlockingCollection<int> orders)
    {
        lock (shelf)
            orders.Add(1);
    }

    /// <summary>A consumer waits for work with the lock in its hand that those who bring it need.</summary>
    public static object Starved()
    {
        object shelf = new();
        var orders = new System.Collections.Concurrent.BlockingCollection<int>();
        Program.Settle([Program.Start("packer", () => Take(shelf, orders))]);
        Program.Settle(Enumerable.Range(0, 3).Select(i => Program.Start("supplier-" + i, () => Put(shelf, orders))).ToArray());
        return new { queue = 3 };
    }

    /// <summary>Two threads wait for each other, and five more behind them.</summary>
    public static object Behind()
    {
        var gate = new Barrier(2);
        Account a = new("a"), b = new("b");
        Thread[] both = [Program.Start("first", () => a.TransferTo(b, gate)), Program.Start("second", () => b.TransferTo(a, gate))];
        Program.Settle(both);
        Program.Settle(Enumerable.Range(0, 5).Select(i => Program.Start("reader-" + i, () => Read(a))).ToArray());
        return new { circles = 1, threads = 2, behind = 5 };
    }
}

public static class Healthy
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Next(object turn, System.Collections.Concurrent.BlockingCollection<int> orders)
    {
        lock (turn)
            return orders.Take();
    }

    /// <summary>Eight consumers that take from one queue in turn; an order comes every two minutes.</summary>
    public static object Consumers()
    {
        object turn = new();
        var orders = new System.Collections.Concurrent.BlockingCollection<int>();
        Program.Settle(Enumerable.Range(0, 8).Select(i => Program.Start("consumer-" + i, () => { for (;;) Next(turn, orders); })).ToArray());
        Program.Start("customer", () => { for (int n = 0; ; n++) { Thread.Sleep(120_000); orders.Add(n); } });
        return new { consumers = 8 };
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Await(object turn, object news)
    {
        lock (turn)
            lock (news)
                Monitor.Wait(news);
    }

    /// <summary>Five readers of whom one waits to be told, and the others for their turn.</summary>
    public static object Readers()
    {
        object turn = new(), news = new();
        Program.Settle(Enumerable.Range(0, 5).Select(i => Program.Start("reader-" + i, () => { for (;;) Await(turn, news); })).ToArray());
        return new { readers = 5 };
    }

    static readonly object Shared = new();
    static long total;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Add()
    {
        lock (Shared)
            total++;
    }

    /// <summary>Four threads that take one lock all the time.</summary>
    public static object Busy()
    {
        for (int i = 0; i < 4; i++)
            Program.Start("adder-" + i, () => { for (;;) Add(); });
        return new { };
    }

    /// <summary>A lock that its holder takes five times, and lets go each 20 ms; four others want it.</summary>
    public static object Recursive()
    {
        static void Deep(int n)
        {
            lock (Shared)
            {
                if (n > 0)
                    Deep(n - 1);
                else
                    Thread.Sleep(20);
            }
        }
        for (int i = 0; i < 5; i++)
            Program.Start("deep-" + i, () => { for (;; Thread.Sleep(1)) Deep(5); });
        return new { };
    }

    /// <summary>Workers that wait to be told of work: Monitor.Wait has let the lock go.</summary>
    public static object Pulse()
    {
        object queue = new();
        Program.Settle(Enumerable.Range(0, 20).Select(i => Program.Start("worker-" + i, () => { lock (queue) for (;;) Monitor.Wait(queue); })).ToArray());
        Program.Start("boss", () => { for (;; Thread.Sleep(300)) lock (queue) Monitor.Pulse(queue); });
        return new { };
    }

    /// <summary>500 threads that wait for events.</summary>
    public static object Idle()
    {
        var never = new ManualResetEvent(false);
        Program.Settle(Enumerable.Range(0, 500).Select(i => Program.Start("idle-" + i, () => never.WaitOne())).ToArray());
        return new { };
    }

    /// <summary>Two threads that want each other's lock, give up after 100 ms, and try again.</summary>
    public static object Timeout()
    {
        object a = new(), b = new();
        static void Try(object first, object second)
        {
            for (var random = new Random(); ; Thread.Sleep(random.Next(30)))
                lock (first)
                {
                    Thread.Sleep(5);
                    if (Monitor.TryEnter(second, 100))
                        Monitor.Exit(second);
                }
        }
        Program.Start("left", () => Try(a, b));
        Program.Start("right", () => Try(b, a));
        return new { };
    }

    /// <summary>Two threads that want each other's lock, and will give up after ten minutes.</summary>
    public static object Patient()
    {
        object a = new(), b = new();
        var gate = new Barrier(2);
        void Try(object first, object second)
        {
            lock (first)
            {
                gate.SignalAndWait();
                if (Monitor.TryEnter(second, 600_000))
                    Monitor.Exit(second);
            }
        }
        Program.Settle([Program.Start("left", () => Try(a, b)), Program.Start("right", () => Try(b, a))]);
        return new { };
    }

    /// <summary>10,000 locks that were waited for once, and 100 threads that go on taking them.</summary>
    public static object Many()
    {
        var locks = Enumerable.Range(0, 10_000).Select(_ => new object()).ToArray();
        foreach (object o in locks)
            lock (o)
                Monitor.Wait(o, 0); // makes the runtime keep it in its table
        for (int i = 0; i < 100; i++)
            Program.Start("taker-" + i, () => { for (var r = new Random(); ; Thread.Sleep(1)) lock (locks[r.Next(locks.Length)]) Progress.Count(); });
        return new { locks = locks.Length };
    }
}
