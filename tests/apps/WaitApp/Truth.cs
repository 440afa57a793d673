namespace Shop;

using System.Diagnostics;
using System.Text.Json;

/// <summary>How long the threads waited, by kind, those that wait now included.</summary>
public static class Truth
{
    sealed class Slot
    {
        public readonly Dictionary<string, long> Ended = new();
        public string Kind = "";
        public long Since;
    }

    static readonly List<Slot> Slots = new();
    [ThreadStatic] static Slot? mine;

    static Slot Mine()
    {
        if (mine == null)
            lock (Slots)
                Slots.Add(mine = new Slot());
        return mine;
    }

    public static void Begin(string kind)
    {
        var s = Mine();
        lock (s)
        {
            s.Kind = kind;
            s.Since = Stopwatch.GetTimestamp();
        }
    }

    public static void End()
    {
        var s = Mine();
        lock (s)
        {
            s.Ended[s.Kind] = s.Ended.GetValueOrDefault(s.Kind) + Stopwatch.GetTimestamp() - s.Since;
            s.Since = 0;
        }
    }

    public static void Report()
    {
        var clock = Stopwatch.StartNew();
        for (; ; Thread.Sleep(500))
        {
            var sums = new Dictionary<string, double>();
            lock (Slots)
                foreach (var s in Slots)
                    lock (s)
                    {
                        foreach (var (kind, ticks) in s.Ended)
                            sums[kind] = sums.GetValueOrDefault(kind) + ticks / (double)Stopwatch.Frequency;
                        if (s.Since != 0)
                            sums[s.Kind] = sums.GetValueOrDefault(s.Kind) + (Stopwatch.GetTimestamp() - s.Since) / (double)Stopwatch.Frequency;
                    }
            Console.Out.WriteLine(JsonSerializer.Serialize(new { waits = sums, t_s = clock.Elapsed.TotalSeconds }));
            Console.Out.Flush();
        }
    }
}
