// Threads whose state is known: `ThreadApp MODE [--seconds N]` brings its threads into it, prints {"ready":true, ..., "details":{...}} and goes on with a
// progress line each second. The modes of class Sick have threads that never go on, or that grow in number; those of Healthy look like it and do neither.
namespace Shop;

using Checkout;

public static class Program
{
    static readonly Dictionary<string, Func<object>> Modes = new()
    {
        ["zombies"] = Sick.Zombies, ["crowd"] = Sick.Crowd, ["locked"] = Sick.Locked, ["joined"] = Sick.Joined, ["tasks"] = Sick.Tasks,
        ["native"] = Sick.Native,
        ["finalizer-lock"] = Sick.FinalizerLock, ["finalizer-sleep"] = Sick.FinalizerSleep, ["finalizer-native"] = Sick.FinalizerNative,
        ["multiply"] = Sick.Multiply, ["multiply-slowly"] = Sick.MultiplySlowly, ["starved"] = Sick.Starved, ["names"] = Sick.Names,
        ["thousands"] = Sick.Thousands,
        ["idle"] = Healthy.Idle, ["consumers"] = Healthy.Consumers, ["channels"] = Healthy.Channels, ["timers"] = Healthy.Timers,
        ["scheduler"] = Healthy.Scheduler, ["accept"] = Healthy.Accept, ["receive"] = Healthy.Receive, ["watcher"] = Healthy.Watcher, ["burst"] = Healthy.Burst,
        ["churn"] = Healthy.Churn, ["spinners"] = Healthy.Spinners, ["pulse"] = Healthy.Pulse, ["signals"] = Healthy.Signals, ["waiters"] = Healthy.Waiters,
        ["finalizers"] = Healthy.Finalizers,
    };

    public static int Main(string[] args)
    {
        if (args.Length == 0 || !Modes.TryGetValue(args[0], out var mode))
        {
            Console.Error.WriteLine("usage: ThreadApp MODE [--seconds N]; modes: " + string.Join(" ", Modes.Keys));
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

    public static Thread[] Start(int count, string name, Action body) => Enumerable.Range(0, count).Select(i => Start(name + "-" + i, body)).ToArray();

    /// <summary>Until these threads wait.</summary>
    public static void Settle(IEnumerable<Thread> threads)
    {
        foreach (Thread t in threads)
            while ((t.ThreadState & ThreadState.WaitSleepJoin) == 0)
                Thread.Sleep(5);
        Thread.Sleep(50);
    }
}
