namespace Shop;

using System.Runtime.CompilerServices;
using Checkout;

public sealed class Pair<TKey, TValue>
{
    public TKey Key = default!;
    public TValue Value = default!;
    public Pair<TKey, TValue>? Next;
}

public sealed class Order
{
    public sealed class Line
    {
        public long Number, Price, Amount, Discount;
    }
}

public struct Price
{
    public long Units, Cents, Currency;
}

/// <summary>Ten sites, each a method of its own that allocates objects of one type. The loop that calls them is one method.</summary>
public static class Sites
{
    sealed record Site(string Name, string Type, int Objects, Action Allocate);

    const int RoundBytes = 8 << 20;
    const double Ratio = 1.4;
    const int Batch = 16;

    static object? kept;
    static readonly Random Dice = new(4711);
    static readonly List<(Site site, long bytes)> All = [];
    static int[] schedule = [];

    [MethodImpl(MethodImplOptions.NoInlining)] static void Buffer() => kept = new byte[1000];
    [MethodImpl(MethodImplOptions.NoInlining)] static void Label() => kept = new string('x', 200);
    [MethodImpl(MethodImplOptions.NoInlining)] static void Generic() => kept = new Pair<int, string>();
    [MethodImpl(MethodImplOptions.NoInlining)] static void Nested() => kept = new Order.Line();
    [MethodImpl(MethodImplOptions.NoInlining)] static void Matrix() => kept = new int[10, 20];
    [MethodImpl(MethodImplOptions.NoInlining)] static void Jagged() => kept = new int[50][];
    [MethodImpl(MethodImplOptions.NoInlining)] static void Boxed() => kept = new Price { Units = 1 };
    [MethodImpl(MethodImplOptions.NoInlining)] static void Large() => kept = new byte[150_000];
    [MethodImpl(MethodImplOptions.NoInlining)] static void Handler() => kept = new Action(Buffer);

    /// <summary>Allocates behind an await, on a thread of the pool: its stack is that of a state machine.</summary>
    static async Task Fetch(int count)
    {
        await Task.Yield();
        for (int i = 0; i < count; i++)
            kept = new long[30];
    }

    static readonly (string name, string type, Action? allocate)[] Known =
    [
        ("Buffer", "byte[]", Buffer), ("Label", "string", Label), ("Generic", "Shop.Pair<int, string>", Generic),
        ("Fetch", "long[]", null), ("Nested", "Shop.Order.Line", Nested), ("Matrix", "int[,]", Matrix), ("Large", "byte[]", Large),
        ("Jagged", "int[][]", Jagged), ("Boxed", "Shop.Price", Boxed), ("Handler", "System.Action", Handler),
    ];

    /// <summary>Weights the sites: each allocates 1.4 times what the next one does. Returns what a round allocates.</summary>
    public static object Measure()
    {
        double share = (1 - 1 / Ratio) / (1 - Math.Pow(Ratio, -Known.Length));
        var order = new List<int>();
        for (int i = 0; i < Known.Length; i++, share /= Ratio)
        {
            var (name, type, allocate) = Known[i];
            allocate ??= () => kept = new long[30];
            allocate();
            long before = GC.GetAllocatedBytesForCurrentThread();
            allocate();
            long size = GC.GetAllocatedBytesForCurrentThread() - before;
            int objects = Math.Max(1, (int)Math.Round(share * RoundBytes / size));
            if (objects > Batch)
                objects = objects / Batch * Batch;
            All.Add((new Site(name, type, objects, allocate), size * objects));
            for (int done = 0; done < objects; done += Batch)
                order.Add(i);
        }
        schedule = order.ToArray();
        return All.ToDictionary(s => s.site.Name, s => new { type = s.site.Type, objects = s.site.Objects, bytes = s.bytes });
    }

    public static async Task Work(int pauseMs)
    {
        int[] order = (int[])schedule.Clone();
        while (true)
        {
            lock (Dice)
                for (int i = order.Length - 1; i > 0; i--)
                {
                    int other = Dice.Next(i + 1);
                    (order[i], order[other]) = (order[other], order[i]);
                }
            await Round(order);
            Progress.Count();
            if (pauseMs > 0)
                Thread.Sleep(pauseMs);
        }
    }

    static async Task Round(int[] order)
    {
        int fetch = 0;
        foreach (int i in order)
        {
            Site site = All[i].site;
            int count = Math.Min(Batch, site.Objects);
            if (site.Name == "Fetch")
                fetch += count;
            else
                Run(site.Allocate, count);
        }
        await Fetch(fetch);
    }

    static void Run(Action allocate, int count)
    {
        for (int i = 0; i < count; i++)
            allocate();
    }
}
