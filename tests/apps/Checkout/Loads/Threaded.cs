namespace Checkout.Loads;

using System.Diagnostics;
using System.Runtime.CompilerServices;

static class Threaded
{
    static readonly object Forever = new();

    /// <summary>One busy thread: 80% in Pricing.Tax.Compute, 20% in Inventory.Stock.Check; three threads sleep.</summary>
    public static Task Hot(Options options)
    {
        Start("checkout-worker", () => Cart.Total(1000));
        StartSleepers(3);
        return Task.CompletedTask;
    }

    /// <summary>The same for a fifth of the time: what is only to be there, and to be known again, leaves the processors to others.</summary>
    public static Task Warm(Options options)
    {
        Start("checkout-worker", () =>
        {
            for (var work = Stopwatch.StartNew(); work.ElapsedMilliseconds < 5;)
                Cart.Total(1000);
            Thread.Sleep(20);
        });
        StartSleepers(3);
        return Task.CompletedTask;
    }

    /// <summary>Four threads that use 40, 30, 20 and 10 parts of CPU and rest in between.</summary>
    public static Task Shares(Options options)
    {
        StartShare("payment", "Checkout.Payment.Charge", Payment.Charge, 400);
        StartShare("shipping", "Checkout.Shipping.Quote", Shipping.Quote, 300);
        StartShare("mail", "Checkout.Mail.Render", Mail.Render, 200);
        StartShare("audit", "Checkout.Audit.Append", Audit.Append, 100);
        return Task.CompletedTask;
    }

    /// <summary>Bursts below a millisecond, each 10 ms, on several threads: what timers in the kernel's ticks miss.</summary>
    public static Task Bursts(Options options)
    {
        int threads = options.Threads > 0 ? options.Threads : 8;
        for (int i = 0; i < threads; i++)
        {
            StartBurst("burst-charge-" + i, "Checkout.Payment.Charge", Payment.Charge, 200);
            StartBurst("burst-audit-" + i, "Checkout.Audit.Append", Audit.Append, 100);
        }
        return Task.CompletedTask;
    }

    public static Task Idle(Options options)
    {
        StartSleepers(options.Threads > 0 ? options.Threads : 200);
        return Task.CompletedTask;
    }

    const string CollectFile = "/tmp/collect";

    /// <summary>For tests of what grows in a process: a little of what every application does (short-lived objects, threads that end), all of it
    /// garbage. Where /tmp/collect appears, all that can be collected is, and given back to the system; then the file goes. Prints no progress.</summary>
    public static Task Doze(Options options)
    {
        Progress.Ready("doze");
        for (long turn = 0; ; turn++)
        {
            if (turn % 8 == 0)
            {
                var brief = new Thread(Litter) { Name = "one-shot" };
                brief.Start();
                brief.Join();
            }
            Litter();
            Thread.Sleep(50);
            if (!File.Exists(CollectFile))
                continue;
            for (int i = 0; i < 2; i++)
            {
                GC.Collect(2, GCCollectionMode.Aggressive, true, true);
                GC.WaitForPendingFinalizers();
            }
            File.Delete(CollectFile);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Litter()
    {
        for (int i = 0; i < 256; i++)
            GC.KeepAlive(new byte[1000]);
    }

    /// <summary>Threads that live for some 20 ms of work each, one after the other.</summary>
    public static Task ShortLived(Options options)
    {
        var truth = Meter.Named("Checkout.Shipping.Quote");
        new Thread(() =>
        {
            while (true)
            {
                var worker = new Thread(() => Measured(truth, Shipping.Quote, 8000)) { Name = "one-shot" };
                worker.Start();
                worker.Join();
            }
        }) { IsBackground = true, Name = "spawner" }.Start();
        return Task.CompletedTask;
    }

    /// <summary>Two threads that allocate short-lived objects of known types, with some that survive for a while.</summary>
    public static Task Allocate(Options options)
    {
        for (int i = 0; i < 2; i++)
        {
            var recent = new Queue<LineItem>();
            Start("allocator-" + i, () => AllocateItems(recent));
        }
        return Task.CompletedTask;
    }

    /// <summary>As Allocate, but most of the time it waits.</summary>
    public static Task Trickle(Options options)
    {
        var recent = new Queue<LineItem>();
        Start("allocator", () =>
        {
            for (int i = 0; i < 20; i++)
                AllocateItems(recent);
            Thread.Sleep(40);
        });
        return Task.CompletedTask;
    }

    sealed record LineItem(string Name, byte[] Payload);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void AllocateItems(Queue<LineItem> recent)
    {
        for (int i = 0; i < 1000; i++)
        {
            recent.Enqueue(new LineItem("item" + i, new byte[100]));
            if (recent.Count > 10_000)
                recent.Dequeue();
        }
        Progress.Count();
    }

    static void StartShare(string name, string place, Func<int, double> work, int units)
    {
        var truth = Meter.Named(place);
        Start(name, () =>
        {
            Measured(truth, work, units * 10);
            Thread.Sleep(20);
        });
    }

    static void StartBurst(string name, string place, Func<int, double> work, int units)
    {
        var truth = Meter.Named(place);
        Start(name, () =>
        {
            Measured(truth, work, units);
            Thread.Sleep(10);
        });
    }

    static void Measured(Meter truth, Func<int, double> work, int units)
    {
        long start = Cpu.ThreadNs();
        work(units);
        truth.Since(start);
        Progress.Count();
    }

    static void StartSleepers(int count)
    {
        for (int i = 0; i < count; i++)
            Start("sleeper-" + i, () => { lock (Forever) Monitor.Wait(Forever); });
    }

    static void Start(string name, Action step)
    {
        new Thread(() => { while (true) step(); }) { IsBackground = true, Name = name }.Start();
    }
}
