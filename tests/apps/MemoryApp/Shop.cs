#pragma warning disable CS0169, CS0414, CS0649 // fields that nobody reads: what counts is that they hold
namespace Shop;

using System.Runtime.CompilerServices;

public sealed class Order(int id)
{
    public int Id = id;
    public long Amount = id * 3;
    public object? Customer;
}

public static class Orders
{
    public static Order[]? All;
}

public sealed class Node(Node? next, int value)
{
    public Node? Next = next;
    public int Value = value;
}

public static class Chain
{
    public static Node? Head;
}

public static class Cache
{
    internal static readonly Dictionary<int, Order> _items = new();
}

/// <summary>Lives as long as the process; who subscribes and never unsubscribes stays.</summary>
public sealed class PriceFeed
{
    public static readonly PriceFeed Instance = new();

    public event EventHandler? Changed;

    public void Raise() => Changed?.Invoke(this, EventArgs.Empty);
    public void Clear() => Changed = null;
}

public sealed class Widget
{
    readonly byte[] pixels = new byte[200];

    public Widget(PriceFeed feed) => feed.Changed += OnChanged;

    void OnChanged(object? sender, EventArgs e) => pixels[0]++;
}

public sealed class Poller : IDisposable
{
    readonly byte[] buffer = new byte[200];
    readonly Timer timer;

    public Poller() => timer = new Timer(Poll, null, TimeSpan.FromHours(1), TimeSpan.FromHours(1));

    void Poll(object? state) => buffer[0]++;

    public void Dispose() => timer.Dispose();
}

public static class Callbacks
{
    internal static readonly List<Func<int>> Pending = new();

    public static void Add(int id)
    {
        byte[] captured = new byte[200];
        Pending.Add(() => captured.Length + id);
    }
}

public sealed class Metadata
{
    readonly byte[] bytes = new byte[200];
}

/// <summary>Metadata beside keys that stay alive: the table's entries are dependent handles.</summary>
public static class Attached
{
    internal static readonly ConditionalWeakTable<object, Metadata> Table = new();
    internal static readonly List<object> Keys = new();
}

/// <summary>Collections of numbers: no objects in them, only arrays that are made larger by leaps.</summary>
public static class Series
{
    internal static readonly List<int> Numbers = new();
    internal static readonly MemoryStream Log = new();
    internal static readonly Dictionary<int, int> Table = new();
}

public sealed class Ticket
{
    readonly byte[] body = new byte[100];
}

public sealed class Document(string title, string author)
{
    public string Title = title;
    public string Author = author;
}

public static class Library
{
    internal static readonly List<Document> Documents = new();
    internal static string[] Tags = [];
    internal static readonly Dictionary<string, string> Names = new();
}

/// <summary>Held by two: neither holder's own, both's together.</summary>
public sealed class Blob
{
    readonly byte[] data = new byte[1000];
}

public static class Left
{
    internal static readonly List<Blob> Blobs = new();
}

public static class Right
{
    internal static readonly List<Blob> Blobs = new();
}

public struct Pair<TFirst, TSecond>
{
    public TFirst First;
    public TSecond Second;
}

public class Outer<T>
{
    public class Inner<U>
    {
        public T? One;
        public U? Two;
    }
}

public enum Colour : byte
{
    Red,
    Blue,
}

/// <summary>Statics of a generic type: one list for each instantiation.</summary>
public static class Vault<T>
{
    internal static long opened;
    internal static Pair<T, int> Last;
    internal static readonly List<byte[]> Items = new();

    public static class Drawer<U>
    {
        internal static readonly object Lock = new();
        internal static readonly List<byte[]> Items = new();
    }
}

/// <summary>Its static is also that of a copy in a collectible context.</summary>
public static class Plugged
{
    internal static readonly List<byte[]> Kept = new();

    public static int Fill(int count)
    {
        for (int i = 0; i < count; i++)
            Kept.Add(new byte[100]);
        return Kept.Count;
    }
}

/// <summary>Structs within objects and within each other.</summary>
public struct Stamp
{
    public byte Kind;
    public Document? Author;
    public long At;
    public Ticket? Proof;
}

public struct Entry<T>
{
    public int Number;
    public Stamp Made;
    public T? Value;
    public string? Note { get; set; }
}

public sealed class Coin(int worth)
{
    public int Worth = worth;
}

public class Page
{
    public string? Title;
    public (int, Ticket?) Pair;
}

public sealed class Ledger : Page
{
    public long Total;
    public Entry<Coin> First;
    public Coin? Tail;
    public Stamp? Closed;
    public DateTime When;
}

public static class Books
{
    internal static readonly List<object> All = new();
}

public static class Shapes
{
    internal static readonly List<object> All = new();
}

/// <summary>Objects held by a stack, a thread static, handles and the finalizer queue.</summary>
public sealed class OnStack
{
    public readonly byte[] Data = new byte[1000];
}

/// <summary>Held by one stack alone, at the end of many calls.</summary>
public sealed class Deep
{
    public readonly byte[] Data = new byte[1000];
}

public sealed class OnThread
{
    public readonly byte[] Data = new byte[1000];
}

public sealed class ByHandle
{
    public readonly byte[] Data = new byte[1000];
}

public sealed class Finalizable
{
    internal static readonly ManualResetEvent Gate = new(false);
    public static volatile bool Exists;
    public readonly byte[] Data = new byte[1000];

    public Finalizable() => Exists = true;

    ~Finalizable() => Gate.WaitOne();
}
