namespace Shop;

using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Checkout;

/// <summary>What leaves the finalizer thread where it stands.</summary>
public class Leftover(Action end)
{
    static volatile bool begun;

    [MethodImpl(MethodImplOptions.NoInlining)]
    ~Leftover() => Close();

    [MethodImpl(MethodImplOptions.NoInlining)]
    void Close()
    {
        begun = true;
        end();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Forget(Action end)
    {
        for (int i = 0; i < 10; i++)
            new Leftover(end);
    }

    public static void Leave(Action end)
    {
        Forget(end);
        while (!begun)
        {
            GC.Collect();
            Thread.Sleep(20);
        }
        Thread.Sleep(50);
    }
}

public static partial class Sick
{
    static readonly ManualResetEvent Never = new(false);
    static readonly TaskCompletionSource Unset = new();

    [DllImport("libc")]
    static extern int pause();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Reserve() => Never.WaitOne();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Fetch() => Unset.Task.Wait();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Listen() => pause();

    static void Busy(int count) => Program.Start(count, "busy", () => { for (long i = 0; ; i++) if (i % 200_000 == 0) Thread.Sleep(1); });

    /// <summary>One each half second, that wait for an event that nobody sets, beside two busy workers.</summary>
    public static object Zombies()
    {
        Busy(2);
        for (int i = 0; i < 24; i++, Thread.Sleep(500))
            Program.Start("request-" + i, Reserve);
        return new { zombies = 24 };
    }

    /// <summary>A hundred and twenty of them at once.</summary>
    public static object Crowd()
    {
        Program.Settle(Program.Start(120, "request", Reserve));
        return new { zombies = 120 };
    }

    /// <summary>Six threads wait for a lock that is never let go.</summary>
    public static object Locked()
    {
        object cache = new();
        Program.Start("holder", () => { lock (cache) Thread.Sleep(-1); });
        Thread.Sleep(50);
        Program.Settle(Program.Start(6, "reader", () => Read(cache)));
        return new { zombies = 6 };
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Read(object cache)
    {
        lock (cache)
            Progress.Count();
    }

    /// <summary>Threads that wait for one that does not end.</summary>
    public static object Joined()
    {
        Thread forever = Program.Start("forever", () => { for (;; Thread.Sleep(5)) { } });
        for (int i = 0; i < 24; i++, Thread.Sleep(500))
            Program.Start("joiner-" + i, () => forever.Join());
        return new { zombies = 24 };
    }

    /// <summary>Long-running tasks that block on a task that nobody completes.</summary>
    public static object Tasks()
    {
        for (int i = 0; i < 24; i++, Thread.Sleep(500))
            Task.Factory.StartNew(Fetch, TaskCreationOptions.LongRunning);
        return new { zombies = 24 };
    }

    /// <summary>Threads in a native function that does not return.</summary>
    public static object Native()
    {
        for (int i = 0; i < 24; i++, Thread.Sleep(500))
            Program.Start("native-" + i, Listen);
        return new { zombies = 24 };
    }

    public static object FinalizerLock()
    {
        object pool = new();
        Program.Start("holder", () => { lock (pool) Thread.Sleep(-1); });
        Thread.Sleep(50);
        Leftover.Leave(() => Read(pool));
        Program.Start("waits-for-finalizers", GC.WaitForPendingFinalizers); // whose state .NET 11 does not tell
        Thread.Sleep(200);
        return new { };
    }

    public static object FinalizerSleep()
    {
        Leftover.Leave(() => Thread.Sleep(600_000));
        return new { };
    }

    public static object FinalizerNative()
    {
        Leftover.Leave(Listen);
        return new { };
    }

    /// <summary>Ten threads a second that do not end.</summary>
    public static object Multiply()
    {
        Program.Start("accept", () => { for (int i = 0; ; i++, Thread.Sleep(100)) Program.Start("request-" + i, Reserve); });
        Thread.Sleep(8000);
        return new { perSecond = 10 };
    }

    /// <summary>One each two seconds; a hundred of them are there already.</summary>
    public static object MultiplySlowly()
    {
        for (int i = 0; i < 60; i++, Thread.Sleep(250))
            Program.Start("job-" + i, Reserve);
        Program.Start("accept", () => { for (int i = 0; ; i++, Thread.Sleep(2000)) Program.Start("job-" + i, Reserve); });
        return new { };
    }

    /// <summary>All workers of the pool block on a task that nobody completes, and more work waits.</summary>
    public static object Starved()
    {
        ThreadPool.SetMinThreads(12, 4);
        ThreadPool.SetMaxThreads(12, 4);
        for (int i = 0; i < 40; i++)
            Task.Run(Fetch);
        Thread.Sleep(1000);
        return new { workers = 12 };
    }

    /// <summary>Threads of the application with names that nobody should show as they are.</summary>
    public static object Names()
    {
        string[] names = ["\u001b[31mred", "<b>bold</b>", "aaaaaaaaaaaaa\u00e9\u00e9", "a\nb\tc", "| a | b |", ".NET Finalizer", "\u202eright-to-left", "`x`"];
        Program.Settle(names.Select(n => Program.Start(n, Reserve)).ToArray());
        return new { names };
    }

    public static object Thousands()
    {
        Program.Settle(Program.Start(1000, "left", Reserve));
        Program.Settle(Program.Start(1000, "right", Fetch));
        return new { zombies = 2000 };
    }
}
