namespace MemoryApp.Modes;

using System.Reflection;
using Shop;

/// <summary>Strings of known values and counts. The details list those with two or more copies, biggest waste first, as
/// {value as JSON, or null for a long one; chars, copies, each_bytes, holder}.</summary>
sealed class StringsMode() : Mode("strings", 666)
{
    sealed record Group(string Value, int Copies, string Holder);

    // takes an int, from .NET 10 on a nint
    static readonly MethodInfo Allocate = typeof(string).GetMethods(BindingFlags.NonPublic | BindingFlags.Static)
        .First(m => m.Name == "FastAllocateString" && m.GetParameters().Length == 1);

    readonly List<Group> groups = new();
    string? big;

    /// <summary>`count` copies of "777777" in Shop.Document.Title, and once the others.</summary>
    public override void Grow(long count)
    {
        for (int i = 0; i < count; i++)
            Library.Documents.Add(new Document(Copy("777777"), Copy("Zoë Ångström " + i)));
        Count("777777", (int)count, "Shop.Document.Title");
        if (big != null)
            return;
        Library.Tags = Tags().ToArray();
        for (int i = 0; i < 1000; i++)
            Library.Names.Add("name " + i, Copy(new string('v', 100)));
        Count(new string('v', 100), 1000, "Dictionary<string, string>.Entry[].value");
        big = new string('B', 10_000_000);
    }

    IEnumerable<string> Tags()
    {
        foreach (var (value, copies) in new[]
        {
            ("日本語のタグ", 300), ("käse 🧀", 200), ("a\0b", 40), ("\ud800x", 50), ("x\udc00", 30), (new string('L', 50_000), 3), ("", 25),
        })
        {
            Count(value, copies, "string[]");
            for (int i = 0; i < copies; i++)
                yield return Copy(value);
        }
        for (int i = 0; i < 5_000; i++)
            yield return "unique " + i;
    }

    void Count(string value, int copies, string holder)
    {
        int at = groups.FindIndex(g => g.Value == value);
        if (at >= 0)
            groups[at] = groups[at] with { Copies = groups[at].Copies + copies };
        else
            groups.Add(new Group(value, copies, holder));
    }

    /// <summary>A string of its own, the empty one too.</summary>
    static string Copy(string value) => value.Length > 0 ? new string(value.AsSpan()) : Empty();

    static string Empty() =>
        (string)Allocate.Invoke(null, [Allocate.GetParameters()[0].ParameterType == typeof(int) ? (object)0 : (nint)0])!;

    // lone surrogates have no JSON: the values go as lists of code units
    public override object Details() => new
    {
        big_chars = big!.Length,
        unique = 5_000,
        groups = groups.Select(g => new
        {
            units = g.Value.Length <= 32 ? g.Value.Select(c => (int)c).ToArray() : null,
            chars = g.Value.Length,
            copies = g.Copies,
            each_bytes = g.Value.Length > 0 ? Size.Of(() => Copy(g.Value)) : 24,
            holder = g.Holder,
        }).OrderByDescending(g => (g.copies - 1) * g.each_bytes),
    };
}
