namespace MemoryApp.Modes;

using System.Collections.Concurrent;
using Shop;

/// <summary>Types of many shapes, held by static Shop.Shapes.All: each entry of the details is a name as C# writes it, without
/// namespaces, with the objects that the mode has made of exactly this type.</summary>
sealed unsafe class GenericsMode() : Mode("generics", 10)
{
    long count;

    static readonly (string Name, Func<object> Make)[] Shapes =
    [
        ("List<Order>", () => new List<Order>()),
        ("List<Dictionary<string, int[]>>", () => new List<Dictionary<string, int[]>>()),
        ("ConcurrentDictionary<Colour, Order>", () => new ConcurrentDictionary<Colour, Order>()),
        ("int[,]", () => new int[3, 5]),
        ("int[][]", () => new int[7][]),
        ("string[][,]", () => new string[2][,]),
        ("Pair<Order, string>[]", () => Pairs()),
        ("Pair<int, long>[]", () => new Pair<int, long>[9]),
        ("Pair<Pair<Order, int>, Colour>[]", () => new Pair<Pair<Order, int>, Colour>[5]),
        ("Outer<int>.Inner<string>", () => new Outer<int>.Inner<string>()),
        ("Outer<Order[]>.Inner<List<int>>", () => new Outer<Order[]>.Inner<List<int>>()),
        ("Func<Order, List<int>>", () => new Func<Order, List<int>>(new Numbering().Numbers)),
        ("Colour", () => (object)Colour.Blue),
        ("Pair<Colour, double>", () => (object)new Pair<Colour, double>()),
        ("(int, string)[]", () => new (int, string)[4]),
        ("Order[,,]", () => new Order[2, 2, 2]),
        ("int*[]", () => new int*[6]),
        ("DateTime?[]", () => new DateTime?[3]),
        ("Lazy<Order>", () => new Lazy<Order>()),
    ];

    static Pair<Order, string>[] Pairs()
    {
        var pairs = new Pair<Order, string>[5];
        for (int i = 0; i < pairs.Length; i++)
            pairs[i] = new Pair<Order, string> { First = new Order(i), Second = "pair " + i };
        return pairs;
    }

    // of an instance: the compiler makes one delegate only of a static method
    sealed class Numbering
    {
        public List<int> Numbers(Order order) => [order.Id];
    }

    public override void Grow(long more)
    {
        for (long i = 0; i < more; i++)
            Shop.Shapes.All.AddRange(Shapes.Select(s => s.Make()));
        count += more;
    }

    public override void Drop()
    {
        Shop.Shapes.All.Clear();
        count = 0;
    }

    public override object Details() => new
    {
        holder = "static Shop.Shapes.All",
        types = Shapes.ToDictionary(s => s.Name, _ => count),
    };
}
