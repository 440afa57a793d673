namespace MemoryApp.Modes;

using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.InteropServices;
using Shop;

/// <summary>Small arrays that pinned handles hold, with free space between them.</summary>
sealed class PinnedMode() : Mode("pinned", 1_000)
{
    const int Bytes = 500;
    readonly List<GCHandle> handles = new();

    public override void Grow(long count)
    {
        for (long i = 0; i < count; i++)
        {
            handles.Add(GCHandle.Alloc(new byte[Bytes], GCHandleType.Pinned));
            GC.KeepAlive(new byte[Bytes * 4]);
        }
    }

    public override void Drop()
    {
        handles.ForEach(h => h.Free());
        handles.Clear();
    }

    public override object Details() => new { type = "byte[]", count = handles.Count, each_bytes = Size.Of(() => new byte[Bytes]) };
}

/// <summary>Threads that wait at the end of many calls, each with an object that nothing else holds.</summary>
sealed class DepthsMode() : Mode("depths", 1_000)
{
    const int Calls = 2_000, StackBytes = 1 << 20;
    readonly CountdownEvent there = new(1);
    int count;

    public override void Grow(long more)
    {
        if (more == 0)
            return;
        there.AddCount((int)more);
        for (long i = 0; i < more; i++)
            new Thread(() => Down(Calls, new Deep()), StackBytes) { IsBackground = true, Name = "depth" }.Start();
        count += (int)more;
        there.Signal();
        there.Wait();
        there.Reset(1);
    }

    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    int Down(int calls, Deep held)
    {
        if (calls > 0)
            return Down(calls - 1, held) + 1;
        there.Signal();
        Thread.Sleep(Timeout.Infinite);
        GC.KeepAlive(held);
        return 0;
    }

    public override object Details() => new { type = "Shop.Deep", count, calls = Calls };
}

/// <summary>Small arrays that pinned handles hold in the oldest generation, each behind a gap that nothing fills.</summary>
sealed class TornMode() : Mode("torn", 1_000)
{
    const int Bytes = 100, Gap = 4_000;
    readonly List<GCHandle> handles = new();

    public override void Grow(long count)
    {
        if (count > 0)
            Pin(count);
        GC.Collect();
    }

    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    void Pin(long count)
    {
        var between = new byte[count][];
        for (long i = 0; i < count; i++)
        {
            between[i] = new byte[Gap];
            handles.Add(GCHandle.Alloc(new byte[Bytes], GCHandleType.Pinned));
        }
        GC.Collect();
        GC.Collect();
        GC.KeepAlive(between);
    }

    public override void Drop()
    {
        handles.ForEach(h => h.Free());
        handles.Clear();
    }

    public override object Details() => new { type = "byte[]", count = handles.Count, gap_bytes = (Gap + 24L) * handles.Count };
}

/// <summary>static Kept: byte[] and object[] past the large object heap's bound; every second one is let go.</summary>
sealed class LohMode() : Mode("loh", 50)
{
    static readonly List<object> Kept = new();

    public override void Grow(long count)
    {
        for (long i = 0; i < count; i++)
        {
            Kept.Add(new byte[200_000]);
            Kept.Add(new long[20_000]);
            GC.KeepAlive(new byte[100_000]);
        }
    }

    public override void Drop() => Kept.Clear();

    public override object Details() => new
    {
        holder = "static MemoryApp.Modes.LohMode.Kept",
        bytes = Kept.Sum(k => k is byte[]? 200_024L : 160_024L),
        count = Kept.Count,
    };
}

/// <summary>Arrays of the pinned object heap.</summary>
sealed class PohMode() : Mode("poh", 50)
{
    static readonly List<byte[]> Kept = new();

    public override void Grow(long count)
    {
        for (long i = 0; i < count; i++)
            Kept.Add(GC.AllocateArray<byte>(20_000, pinned: true));
    }

    public override void Drop() => Kept.Clear();

    public override object Details() => new
    {
        holder = "static MemoryApp.Modes.PohMode.Kept",
        bytes = Kept.Count * 20_024L,
        count = Kept.Count,
    };
}

/// <summary>A type of a collectible assembly, whose static holds its objects.</summary>
sealed class CollectibleMode() : Mode("collectible", 1_000)
{
    FieldInfo? kept;
    long count;

    public override void Grow(long more)
    {
        kept ??= Define();
        var list = (List<object>)(kept.GetValue(null) ?? new List<object>());
        kept.SetValue(null, list);
        for (long i = 0; i < more; i++)
            list.Add(Activator.CreateInstance(kept.DeclaringType!)!);
        count += more;
    }

    public override void Drop()
    {
        kept = null;
        count = 0;
    }

    static FieldInfo Define()
    {
        var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Plugin"), AssemblyBuilderAccess.RunAndCollect);
        var type = assembly.DefineDynamicModule("Plugin").DefineType("Plugin.Gadget", TypeAttributes.Public | TypeAttributes.Class);
        type.DefineField("Payload", typeof(long), FieldAttributes.Public);
        type.DefineField("Kept", typeof(object), FieldAttributes.Public | FieldAttributes.Static);
        return type.CreateType().GetField("Kept")!;
    }

    public override object Details() => new { holder = "static Plugin.Gadget.Kept", type = "Plugin.Gadget", count };
}

/// <summary>Held by a thread's stack, a thread static, handles, and the finalizer queue.</summary>
sealed class RootsMode() : Mode("roots", 100)
{
    [ThreadStatic]
    static OnThread[]? onThread;

    readonly List<GCHandle> strong = new(), weak = new();
    long count;

    public override void Grow(long more)
    {
        var started = new ManualResetEvent(false);
        new Thread(() => Hold(more, started)) { IsBackground = true, Name = "holder" }.Start();
        started.WaitOne();
        for (long i = 0; i < more; i++)
        {
            var target = new ByHandle();
            strong.Add(GCHandle.Alloc(target));
            weak.Add(GCHandle.Alloc(target, GCHandleType.Weak));
        }
        count += more;
        Abandon(more);
    }

    static void Hold(long count, ManualResetEvent started)
    {
        onThread = new OnThread[count];
        var onStack = new OnStack[count];
        for (long i = 0; i < count; i++)
        {
            onThread[i] = new OnThread();
            onStack[i] = new OnStack();
        }
        started.Set();
        while (true)
        {
            Thread.Sleep(1000);
            GC.KeepAlive(onStack);
        }
    }

    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    static void Abandon(long count)
    {
        for (long i = 0; i < count; i++)
            GC.KeepAlive(new Finalizable());
    }

    public override object Details() => new
    {
        count,
        stack = new { type = "Shop.OnStack", thread = "holder", method = "MemoryApp.Modes.RootsMode.Hold" },
        thread_static = new { type = "Shop.OnThread", field = "MemoryApp.Modes.RootsMode.onThread" },
        handle = new { type = "Shop.ByHandle" },
        finalizer = new { type = "Shop.Finalizable" },
        each_bytes = Size.Of(() => new OnStack()),
    };
}
