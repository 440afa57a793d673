namespace MemoryApp;

using System.Runtime;
using System.Text.Json;
using Checkout;

/// <summary>An application whose heap is known: `MemoryApp MODE[,MODE ...] [--MODE N ...] [--seconds N]`. It fills the heap as
/// the modes say, prints {"ready":true, ..., "details":{mode: what it has made}} and then a progress line each second (see
/// Checkout.Progress). Sizes in the details are measured by the runtime's own allocation counter.
///
/// Commands come as lines on standard input, each is answered by a line {"answer":command, ...}:
///   grow MODE N    makes N more (bytes for unmanaged); answers with the mode's new details
///   drop MODE      lets go of all that the mode holds, and collects
///   heap           what the runtime says of its heap, after a full collection
///   now            the same without one</summary>
public static class Program
{
    static readonly Dictionary<string, Mode> Modes = new Mode[]
    {
        new Modes.ArrayMode(), new Modes.ListMode(), new Modes.StaticMode(), new Modes.EventMode(), new Modes.TimerMode(),
        new Modes.ClosureMode(), new Modes.CwtMode(), new Modes.ChurnMode(), new Modes.UnmanagedMode(), new Modes.StringsMode(),
        new Modes.GenericsMode(), new Modes.PinnedMode(), new Modes.LohMode(), new Modes.PohMode(), new Modes.CollectibleMode(),
        new Modes.RootsMode(), new Modes.AllocatingMode(), new Modes.SharedMode(), new Modes.VaultsMode(), new Modes.LedgersMode(),
        new Modes.FrozenMode(), new Modes.CollectingMode(), new Modes.NumbersMode(), new Modes.StreamMode(), new Modes.TableMode(),
        new Modes.TornMode(), new Modes.ReloadingMode(), new Modes.DepthsMode(), new Modes.BackgroundMode(),
    }.ToDictionary(m => m.Name);

    public static int Main(string[] args)
    {
        string[] names = args.Length > 0 ? args[0].Split(',') : [];
        if (names.Length == 0 || !names.All(Modes.ContainsKey))
        {
            Console.Error.WriteLine("usage: MemoryApp MODE[,MODE ...] [--MODE N ...] [--seconds N]");
            Console.Error.WriteLine("modes: " + string.Join(" ", Modes.Keys));
            return 2;
        }
        foreach (string name in names)
            Modes[name].Grow(Value(args, "--" + name, Modes[name].Default));
        Collect();
        Modes.Where(m => !names.Contains(m.Key)).ToList().ForEach(m => Modes.Remove(m.Key));
        new Thread(Work) { IsBackground = true, Name = "worker" }.Start();
        Progress.Ready(args[0], Modes.ToDictionary(m => m.Key, m => m.Value.Details()));
        new Thread(Obey) { IsBackground = true, Name = "commands" }.Start();
        Progress.Report((int)Value(args, "--seconds", int.MaxValue)).Wait();
        return 0;
    }

    static long Value(string[] args, string name, long otherwise)
    {
        int at = Array.IndexOf(args, name);
        return at >= 0 && at + 1 < args.Length ? long.Parse(args[at + 1]) : otherwise;
    }

    static void Work()
    {
        while (true)
        {
            Progress.Count();
            Thread.Sleep(1);
        }
    }

    static void Obey()
    {
        while (Console.In.ReadLine() is string line)
        {
            string[] words = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            Console.Out.WriteLine(JsonSerializer.Serialize(Answer(line, words)));
            Console.Out.Flush();
        }
    }

    static object Answer(string line, string[] words)
    {
        switch (words)
        {
            case ["grow", var mode, var count] when Modes.ContainsKey(mode):
                Modes[mode].Grow(long.Parse(count));
                return new { answer = line, details = Modes[mode].Details() };
            case ["drop", var mode] when Modes.ContainsKey(mode):
                Modes[mode].Drop();
                Collect();
                return new { answer = line };
            case ["heap"]:
                Collect();
                return Heap(line);
            case ["now"]:
                return Heap(line);
            default:
                return new { answer = line, error = "no such command or mode" };
        }
    }

    static object Heap(string line)
    {
        var info = GC.GetGCMemoryInfo(GCKind.Any);
        return new
        {
            answer = line,
            total_bytes = GC.GetTotalMemory(false),
            heap_bytes = info.HeapSizeBytes,
            fragmented_bytes = info.FragmentedBytes,
            committed_bytes = info.TotalCommittedBytes,
            generations = info.GenerationInfo.ToArray().Select(g => new { bytes = g.SizeAfterBytes, free = g.FragmentationAfterBytes }),
            collections = new[] { GC.CollectionCount(0), GC.CollectionCount(1), GC.CollectionCount(2) },
            server = GCSettings.IsServerGC,
            rss_bytes = Environment.WorkingSet,
        };
    }

    /// <summary>All that is left is then in the oldest generation.</summary>
    static void Collect()
    {
        for (int i = 0; i < 3; i++)
        {
            GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: true);
            if (!Shop.Finalizable.Exists) // the first one of these blocks the queue for good
                GC.WaitForPendingFinalizers();
        }
    }
}

/// <summary>One way to fill the heap. Grow makes so many more and is called first with the count of the command line.</summary>
abstract class Mode(string name, long defaultCount)
{
    public string Name => name;
    public long Default => defaultCount;

    public abstract void Grow(long count);
    public abstract object Details();
    public virtual void Drop() => throw new NotSupportedException(name);
}

/// <summary>What an object takes on the heap, by the runtime's own counter.</summary>
static class Size
{
    public static long Of(Func<object> make)
    {
        GC.KeepAlive(make());
        long before = GC.GetAllocatedBytesForCurrentThread();
        object made = make();
        long bytes = GC.GetAllocatedBytesForCurrentThread() - before;
        GC.KeepAlive(made);
        return bytes;
    }
}
