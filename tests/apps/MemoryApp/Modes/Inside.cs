namespace MemoryApp.Modes;

using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using Shop;

/// <summary>Statics of instantiations of generic types, and one of a collectible assembly.</summary>
sealed class VaultsMode() : Mode("vaults", 500)
{
    const int Bytes = 100;

    // held by nothing else: what keeps the context is its static's own objects, and this
    static MethodInfo? fill;

    static readonly Dictionary<string, List<byte[]>> Lists = new();
    long plugged;

    public override void Grow(long count)
    {
        Lists["Shop.Vault<int>.Items"] = Vault<int>.Items;
        Lists["Shop.Vault<string>.Items"] = Vault<string>.Items;
        Lists["Shop.Vault<Pair<Order, int>>.Items"] = Vault<Pair<Order, int>>.Items;
        Lists["Shop.Vault<List<string[]>>.Items"] = Vault<List<string[]>>.Items;
        Lists["Shop.Vault<string>.Drawer<long>.Items"] = Vault<string>.Drawer<long>.Items;
        foreach (var list in Lists.Values)
            for (long i = 0; i < count; i++)
                list.Add(new byte[Bytes]);
        fill ??= new AssemblyLoadContext("plugin", isCollectible: true)
            .LoadFromAssemblyPath(typeof(Plugged).Assembly.Location).GetType("Shop.Plugged")!.GetMethod("Fill")!;
        plugged = (int)fill.Invoke(null, [(int)count])!;
        holders = Lists.ToDictionary(l => l.Key, l => l.Value.Count);
        Lists.Clear(); // only the statics hold them
    }

    Dictionary<string, int> holders = new();

    public override object Details() => new
    {
        holders,
        collectible = new { holder = "Shop.Plugged.Kept", count = plugged },
        each_bytes = Size.Of(() => new byte[Bytes]),
    };
}

/// <summary>References within structs: how many by which field. The names are the report's, without namespaces.</summary>
sealed class LedgersMode() : Mode("ledgers", 100)
{
    long count;

    static Stamp Stamped() => new() { Kind = 1, Author = new Document("title", "author"), At = 2, Proof = new Ticket() };

    static Entry<Coin> Entered() => new() { Number = 3, Made = Stamped(), Value = new Coin(4), Note = new string('n', 5) };

    public override void Grow(long more)
    {
        for (long i = 0; i < more; i++)
        {
            Books.All.Add(new Ledger { Pair = (6, new Ticket()), First = Entered(), Tail = new Coin(7), Closed = Stamped() });
            Books.All.Add(new[] { Entered(), Entered() });
            Books.All.Add(Waiting(new Blob(), new TaskCompletionSource<Ticket>()));
        }
        count += more;
    }

    /// <summary>A state machine that waits, with a variable in it.</summary>
    static async Task<long> Waiting(Blob blob, TaskCompletionSource<Ticket> never)
    {
        var ticket = await never.Task.ConfigureAwait(false);
        GC.KeepAlive(blob);
        return ticket.GetHashCode();
    }

    public override object Details() => new
    {
        edges = new Dictionary<string, long>
        {
            ["Shop.Ledger.Pair.Item2 -> Shop.Ticket"] = count,
            ["Shop.Ledger.First.Value -> Shop.Coin"] = count,
            ["Shop.Ledger.First.Note -> string"] = count,
            ["Shop.Ledger.First.Made.Author -> Shop.Document"] = count,
            ["Shop.Ledger.First.Made.Proof -> Shop.Ticket"] = count,
            ["Shop.Ledger.Closed.value.Author -> Shop.Document"] = count,
            ["Shop.Ledger.Closed.value.Proof -> Shop.Ticket"] = count,
            ["Shop.Ledger.Tail -> Shop.Coin"] = count,
            ["Shop.Entry<Coin>[].[].Value -> Shop.Coin"] = 2 * count,
            ["Shop.Entry<Coin>[].[].Note -> string"] = 2 * count,
            ["Shop.Entry<Coin>[].[].Made.Author -> Shop.Document"] = 2 * count,
            ["Shop.Entry<Coin>[].[].Made.Proof -> Shop.Ticket"] = 2 * count,
        },
        blobs = count,
    };
}

/// <summary>A literal too large for any other part of the heap that the runtime puts literals into, and some small ones.</summary>
sealed class FrozenMode() : Mode("frozen", 1)
{
    static readonly string[] Literals = new string[4];

    public override void Grow(long count)
    {
        Literals[0] = "the first frozen literal of this application";
        Literals[1] = "the second one, which is longer than the first by some characters";
        Literals[2] = "the third";
        Literals[3] = Copies();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static string Copies() => "one that a method gives away again and again";

    static long BytesOf(string s) => (22 + 2L * s.Length + 7) / 8 * 8;

    public override object Details() => new
    {
        count = Literals.Count(l => GC.GetGeneration(l) == int.MaxValue),
        bytes = Literals.Where(l => GC.GetGeneration(l) == int.MaxValue).Sum(BytesOf),
    };
}

/// <summary>Threads that collect all the time, of every generation, blocking and compacting, and in the background.</summary>
sealed class CollectingMode() : Mode("collecting", 1)
{
    long count;

    public override void Grow(long more)
    {
        for (long i = 0; i < more; i++)
            new Thread(Collect) { IsBackground = true, Name = "collecting" }.Start();
        count += more;
    }

    static void Collect()
    {
        var young = new object[1000];
        for (int i = 0; ; i++)
        {
            for (int k = 0; k < young.Length; k += 1 + i % 7)
                young[k] = new byte[40 + k % 100];
            if (i % 4 == 3)
                GC.Collect(2, GCCollectionMode.Forced, blocking: false);
            else
                GC.Collect(i % 3, GCCollectionMode.Forced, blocking: true, compacting: i % 2 == 0);
            Thread.Sleep(i % 5 == 0 ? 1 : 0);
        }
    }

    public override object Details() => new { threads = count };
}

/// <summary>A thread that asks for a collection in the background, over and over, and counts which of them were one, and which were not:
/// where the runtime has been told to do without, they stop the application.</summary>
sealed class BackgroundMode() : Mode("background", 1)
{
    const int RestMs = 100, PatienceMs = 1000; /* one that comes beside another collection may come to nothing */
    Thread? thread;
    long background, blocking;

    public override void Grow(long more)
    {
        if (thread != null || more == 0)
            return;
        thread = new Thread(Collect) { IsBackground = true, Name = "background" };
        thread.Start();
    }

    void Collect()
    {
        while (true)
        {
            long before = GC.GetGCMemoryInfo(GCKind.Any).Index;
            GC.Collect(2, GCCollectionMode.Forced, blocking: false);
            for (int ms = 0; ms < PatienceMs && Newest(GCKind.Background) <= before && Newest(GCKind.FullBlocking) <= before; ms++)
                Thread.Sleep(1);
            if (Newest(GCKind.Background) > before)
                background++;
            else if (Newest(GCKind.FullBlocking) > before)
                blocking++;
            Thread.Sleep(RestMs);
        }
    }

    static long Newest(GCKind kind) => GC.GetGCMemoryInfo(kind).Index;

    public override object Details() => new { background, blocking };
}

/// <summary>A thread that loads a collectible context with statics of its own, and unloads it, over and over.</summary>
sealed class ReloadingMode() : Mode("reloading", 1)
{
    public override void Grow(long more) => new Thread(Reload) { IsBackground = true, Name = "reloading" }.Start();

    static void Reload()
    {
        for (int i = 0; ; i++)
        {
            Load();
            GC.Collect(2, GCCollectionMode.Forced, blocking: i % 3 > 0);
            GC.WaitForPendingFinalizers();
            Checkout.Progress.Count();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Load()
    {
        var context = new AssemblyLoadContext("plugin", isCollectible: true);
        var plugged = context.LoadFromAssemblyPath(typeof(Plugged).Assembly.Location).GetType("Shop.Plugged")!;
        plugged.GetMethod("Fill")!.Invoke(null, [100]);
        var vault = plugged.Assembly.GetType("Shop.Vault`1")!.MakeGenericType(plugged);
        System.Runtime.CompilerServices.RuntimeHelpers.RunClassConstructor(vault.TypeHandle);
        context.Unload();
    }

    public override object Details() => new { };
}
