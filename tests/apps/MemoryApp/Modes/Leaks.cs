namespace MemoryApp.Modes;

using System.Runtime.InteropServices;
using Shop;

/// <summary>Subscribers of an event of static Shop.PriceFeed.Instance that never unsubscribe.</summary>
sealed class EventMode() : Mode("event", 10_000)
{
    long count;

    public override void Grow(long more)
    {
        for (long i = 0; i < more; i++)
            GC.KeepAlive(new Widget(PriceFeed.Instance));
        count += more;
    }

    public override void Drop()
    {
        PriceFeed.Instance.Clear();
        count = 0;
    }

    public override object Details() => new
    {
        holder = "static Shop.PriceFeed.Instance",
        field = "Changed",
        type = "Shop.Widget",
        count,
        each_bytes = Size.Of(() => new Widget(new PriceFeed())) - Size.Of(() => new PriceFeed()),
    };
}

/// <summary>Timers that nobody disposes of.</summary>
sealed class TimerMode() : Mode("timer", 10_000)
{
    // weak: the timer queue alone holds them
    readonly List<WeakReference<Poller>> pollers = new();

    public override void Grow(long count)
    {
        for (long i = 0; i < count; i++)
            pollers.Add(new WeakReference<Poller>(new Poller()));
    }

    public override void Drop()
    {
        foreach (var weak in pollers)
            if (weak.TryGetTarget(out var poller))
                poller.Dispose();
        pollers.Clear();
    }

    public override object Details() => new { type = "Shop.Poller", count = pollers.Count };
}

/// <summary>static Shop.Callbacks.Pending: lambdas that capture an array each.</summary>
sealed class ClosureMode() : Mode("closure", 10_000)
{
    public override void Grow(long count)
    {
        for (long i = 0; i < count; i++)
            Callbacks.Add((int)i);
    }

    public override void Drop() => Callbacks.Pending.Clear();

    public override object Details() => new
    {
        holder = "static Shop.Callbacks.Pending",
        type = "Func<int>",
        method = "Shop.Callbacks.Add",
        count = Callbacks.Pending.Count,
    };
}

/// <summary>Values of a ConditionalWeakTable whose keys stay.</summary>
sealed class CwtMode() : Mode("cwt", 10_000)
{
    public override void Grow(long count)
    {
        for (long i = 0; i < count; i++)
        {
            object key = new();
            Attached.Keys.Add(key);
            Attached.Table.Add(key, new Metadata());
        }
    }

    public override void Drop() => Attached.Keys.Clear();

    public override object Details() => new
    {
        holder = "static Shop.Attached.Keys",
        type = "Shop.Metadata",
        count = Attached.Keys.Count,
        each_bytes = Size.Of(() => new Metadata()),
    };
}

/// <summary>A thread that allocates and keeps only the newest so many: no leak.</summary>
sealed class ChurnMode() : Mode("churn", 1_000)
{
    Ticket?[] newest = [];
    Thread? thread;

    public override void Grow(long count)
    {
        newest = new Ticket[newest.Length + count];
        if (thread != null)
            return;
        thread = new Thread(Run) { IsBackground = true, Name = "churn" };
        thread.Start();
    }

    void Run()
    {
        for (long i = 0; ; i++)
        {
            var now = newest;
            now[i % now.Length] = new Ticket();
            if (i % 1000 == 0)
                Thread.Sleep(1);
        }
    }

    public override object Details() => new { type = "Shop.Ticket", at_most = newest.Length };
}

/// <summary>Memory outside the heap; the count is bytes.</summary>
sealed unsafe class UnmanagedMode() : Mode("unmanaged", 10_000_000)
{
    readonly List<nint> blocks = new();
    long bytes;

    public override void Grow(long more)
    {
        const int block = 1 << 20;
        for (long done = 0; done < more; done += block)
        {
            var size = (nuint)Math.Min(block, more - done);
            void* memory = NativeMemory.Alloc(size);
            NativeMemory.Fill(memory, size, 1);
            blocks.Add((nint)memory);
        }
        bytes += more;
    }

    public override void Drop()
    {
        blocks.ForEach(b => NativeMemory.Free((void*)b));
        blocks.Clear();
        bytes = 0;
    }

    public override object Details() => new { bytes };
}

/// <summary>Threads that do nothing but allocate.</summary>
sealed class AllocatingMode() : Mode("allocating", 4)
{
    int threads;

    public override void Grow(long count)
    {
        for (long i = 0; i < count; i++)
            new Thread(Run) { IsBackground = true, Name = "alloc-" + threads++ }.Start();
    }

    static void Run()
    {
        var kept = new Ticket[100];
        for (int i = 0; ; i++)
        {
            kept[i % kept.Length] = new Ticket();
            Checkout.Progress.Count();
            if (i % 10_000 == 0)
                Thread.Sleep(1); // so much that it collects all the time it does in a part of the time
        }
    }

    public override object Details() => new { threads };
}
