// Threads whose stacks are known. `StackApp all` (or names of shapes) starts one thread for each shape of code, named after it, prints
// {"ready":true,"pid":..,"runtime":..,"paths":{shape: [["Run", ...], ...]}} and goes on until it is ended. Whenever a thread is looked at, its frames in
// this program are the beginning of one of its shape's paths, from the outermost on: methods, in the words of their sources, which call one another in this
// order and no other. No method is inlined but those that Inlined names, which may be missing.
using System.Runtime.CompilerServices;
using System.Text.Json;

namespace Stacks;

public static class Program
{
	/// <summary>A shape: what its thread runs again and again, or once where it does not end by itself, and the paths that it takes.</summary>
	record Shape(string Name, Action Run, bool Once, string[][] Paths);

	static readonly Shape[] shapes = [
		new("small", Small.Run, false, Small.Paths),
		new("property", Property.Run, false, Property.Paths),
		new("lambda", Lambdas.Run, false, Lambdas.Paths),
		new("linq", Linq.Run, false, Linq.Paths),
		new("generic", Generics.Run, false, Generics.Paths),
		new("virtual", Virtuals.Run, false, Virtuals.Paths),
		new("recursion", Recursion.Run, false, Recursion.Paths),
		new("async", Asynchronous.Run, false, Asynchronous.Paths),
		new("exception", Exceptions.Run, false, Exceptions.Paths),
		new("tier0", TierZero.Run, false, TierZero.Paths),
		new("replaced", Replaced.Run, true, Replaced.Paths),
		new("sorted", Sorted.Run, false, Sorted.Paths),
		new("inlined", Inlined.Run, false, Inlined.Paths),
		new("barrier", Barriers.Run, false, Barriers.Paths),
		new("library", Libraries.Run, false, Libraries.Paths),
	];

	public static void Main(string[] args)
	{
		foreach (Shape shape in shapes) {
			if (args[0] != "all" && !args.Contains(shape.Name))
				continue;
			new Thread(() => Begin(shape)) { Name = shape.Name, IsBackground = true }.Start();
		}
		Console.WriteLine(JsonSerializer.Serialize(new Dictionary<string, object> {
			["ready"] = true, ["pid"] = Environment.ProcessId, ["runtime"] = Environment.Version.ToString(), ["port"] = 0,
			["paths"] = shapes.ToDictionary(s => s.Name, s => s.Paths),
			["may_be_missing"] = new[] { "Inlined.Add", "Inlined.Twice", "Exceptions.Loop" },
			["called_by"] = new Dictionary<string, string> { ["libm.so.6"] = "Libraries.Power" },
		}));
		while (true) {
			Thread.Sleep(200);
			Console.WriteLine(JsonSerializer.Serialize(new Dictionary<string, object> { ["ops"] = Work.Rounds }));
		}
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Begin(Shape shape)
	{
		do {
			shape.Run();
			Interlocked.Increment(ref Work.Rounds);
		} while (true);
	}
}

/// <summary>The leaf of every path, and little work of the others', so that they are all met.</summary>
public static class Work
{
	public static long Rounds;
	[ThreadStatic] static int sink;

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static int Leaf(int x)
	{
		int sum = x;
		for (int i = 0; i < 20; i++)
			sum = sum * 31 + i;
		return sum;
	}

	public static void Keep(int x) => sink = x;
}

public static class Small
{
	public static readonly string[][] Paths = [
		["Small.Run", "Small.H1", "Small.F", "Small.G", "Work.Leaf"],
		["Small.Run", "Small.H2", "Small.F", "Small.G", "Work.Leaf"],
	];

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		for (int i = 0; i < 200; i++)
			Work.Keep(H1(i) + H2(i));
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static int H1(int x) => F(x) + 1;
	[MethodImpl(MethodImplOptions.NoInlining)]
	static int H2(int x) => F(x + 7) * 2;
	[MethodImpl(MethodImplOptions.NoInlining)]
	static int F(int x) => G(x) + 3;
	[MethodImpl(MethodImplOptions.NoInlining)]
	static int G(int x) => Work.Leaf(x) ^ 5;
}

public class Property
{
	public static readonly string[][] Paths = [
		["Property.Run", "Property.Total", "Property.Price.get", "Property.Cost.get", "Work.Leaf"],
	];
	static readonly Property item = new();
	readonly int cost = Environment.TickCount;

	int Price {
		[MethodImpl(MethodImplOptions.NoInlining)]
		get => Cost + 1;
	}

	int Cost {
		[MethodImpl(MethodImplOptions.NoInlining)]
		get => Work.Leaf(cost) + cost;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	int Total() => Price - 1;

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		for (int i = 0; i < 200; i++)
			Work.Keep(item.Total());
	}
}

public static class Lambdas
{
	public static readonly string[][] Paths = [["Lambdas.Run", "Lambdas.Apply", "Lambdas.Call.lambda", "Lambdas.Local", "Work.Leaf"]];
	static readonly Func<int, int> function = Call();

	static Func<int, int> Call() => [MethodImpl(MethodImplOptions.NoInlining)] (x) => Local(x) + 1;

	[MethodImpl(MethodImplOptions.NoInlining)]
	static int Local(int x) => Work.Leaf(x) - 1;
	[MethodImpl(MethodImplOptions.NoInlining)]
	static int Apply(Func<int, int> f, int x) => f(x) + 2;

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		for (int i = 0; i < 200; i++)
			Work.Keep(Apply(function, i));
	}
}

public static class Linq
{
	public static readonly string[][] Paths = [
		["Linq.Run", "Linq.Sum", "Linq.Wanted", "Work.Leaf"],
		["Linq.Run", "Linq.Sum", "Linq.Price", "Work.Leaf"],
	];
	static readonly List<int> items = [.. Enumerable.Range(0, 50)];
	static readonly Func<int, bool> wanted = Wanted;
	static readonly Func<int, int> price = Price;

	[MethodImpl(MethodImplOptions.NoInlining)]
	static bool Wanted(int x) => Work.Leaf(x) != 1;
	[MethodImpl(MethodImplOptions.NoInlining)]
	static int Price(int x) => Work.Leaf(x) & 15;
	[MethodImpl(MethodImplOptions.NoInlining)]
	static int Sum() => items.Where(wanted).Select(price).Sum();

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		for (int i = 0; i < 10; i++)
			Work.Keep(Sum());
	}
}

public static class Generics
{
	public static readonly string[][] Paths = [["Generics.Run", "Generics.Of", "Generics.Shelf.Take", "Generics.Value", "Work.Leaf"]];

	class Shelf<T>
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public int Take(T item) => Value(item) + 1;
	}

	static readonly Shelf<string> names = new();
	static readonly Shelf<long> numbers = new();

	[MethodImpl(MethodImplOptions.NoInlining)]
	static int Value<T>(T item) => Work.Leaf(typeof(T) == typeof(long) ? 1 : 2);
	[MethodImpl(MethodImplOptions.NoInlining)]
	static int Of<T>(Shelf<T> shelf, T item) => shelf.Take(item) + 2;

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		for (int i = 0; i < 100; i++)
			Work.Keep(Of(names, "a") + Of(numbers, i));
	}
}

public abstract class Virtuals
{
	public static readonly string[][] Paths = [
		["Virtuals.Run", "Virtuals.Cat.Speak", "Virtuals.Cat.Say", "Work.Leaf"],
		["Virtuals.Run", "Virtuals.Dog.Speak", "Virtuals.Dog.Say", "Work.Leaf"],
	];

	interface ISpeaks
	{
		int Speak(int x);
	}

	class Cat : ISpeaks
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public int Speak(int x) => Say(x) + 1;
		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Say(int x) => Work.Leaf(x) + 1;
	}

	class Dog : ISpeaks
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public int Speak(int x) => Say(x) + 2;
		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Say(int x) => Work.Leaf(x) + 2;
	}

	static readonly ISpeaks[] animals = [new Cat(), new Dog()];

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		for (int i = 0; i < 200; i++)
			Work.Keep(animals[i & 1].Speak(i));
	}
}

public static class Recursion
{
	const int Depth = 24;

	static string Name(int i) => i % 2 == 0 ? "Recursion.Even" : "Recursion.Odd";

	public static readonly string[][] Paths = [
		["Recursion.Run", .. Enumerable.Range(0, 2 * Depth + 2).Select(Name), "Work.Leaf"],
	];

	[MethodImpl(MethodImplOptions.NoInlining)]
	static int Even(int n) => Odd(n) + 1;
	[MethodImpl(MethodImplOptions.NoInlining)]
	static int Odd(int n) => n == 0 ? Work.Leaf(n) : Even(n - 1) + 2;

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		for (int i = 0; i < 50; i++)
			Work.Keep(Even(Depth));
	}
}

public static class Asynchronous
{
	public static readonly string[][] Paths = [["Asynchronous.Run", "Asynchronous.OuterAsync", "Asynchronous.InnerAsync", "Work.Leaf"]];

	[MethodImpl(MethodImplOptions.NoInlining)]
	static async Task<int> InnerAsync(int x)
	{
		int y = Work.Leaf(x) + Work.Leaf(x + 1);
		await Task.CompletedTask;
		return y;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static async Task<int> OuterAsync(int x) => await InnerAsync(x) + 1;

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		for (int i = 0; i < 100; i++)
			Work.Keep(OuterAsync(i).Result);
	}
}

public static class Exceptions
{
	// A filter, a catch and a finally are pieces of Guard: what they call stands under it.
	public static readonly string[][] Paths = [
		["Exceptions.Run", "Exceptions.Guard", "Exceptions.Filter", "Exceptions.Loop", "Work.Leaf"],
		["Exceptions.Run", "Exceptions.Guard", "Exceptions.Handle", "Exceptions.Loop", "Work.Leaf"],
		["Exceptions.Run", "Exceptions.Guard", "Exceptions.Clean", "Exceptions.Loop", "Work.Leaf"],
		["Exceptions.Run", "Exceptions.Guard", "Exceptions.Throw", "Exceptions.Loop", "Work.Leaf"],
	];

	[MethodImpl(MethodImplOptions.NoInlining)]
	static bool Filter(int x) => Loop(x) != 1;

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Handle(int x) => Work.Keep(Loop(x));
	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Clean(int x) => Work.Keep(Loop(x));
	[MethodImpl(MethodImplOptions.AggressiveInlining)]
	static int Loop(int x)
	{
		int sum = 0;
		for (int i = 0; i < 200; i++)
			sum += Work.Leaf(x + i);
		return sum;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Throw(int x)
	{
		Work.Keep(Loop(x));
		throw new InvalidOperationException();
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Guard(int x)
	{
		try {
			try {
				Throw(x);
			} finally {
				Clean(x);
			}
		} catch (InvalidOperationException) when (Filter(x)) {
			Handle(x);
		}
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		for (int i = 0; i < 5; i++)
			Guard(i);
	}
}

public static class TierZero
{
	public static readonly string[][] Paths = [["TierZero.Run", "TierZero.A", "TierZero.B", "TierZero.C", "Work.Leaf"]];

	[MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
	static int A(int x) => B(x) + 1;
	[MethodImpl(MethodImplOptions.NoInlining)] // optimized, between two that are not
	static int B(int x) => C(x) + 1;
	[MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
	static int C(int x) => Work.Leaf(x) + 1;

	[MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
	public static void Run()
	{
		for (int i = 0; i < 200; i++)
			Work.Keep(A(i));
	}
}

/// <summary>A loop that never ends: its method's code is replaced while it runs.</summary>
public static class Replaced
{
	public static readonly string[][] Paths = [["Replaced.Run", "Replaced.Forever", "Replaced.Inner", "Replaced.Step", "Work.Leaf"]];

	[MethodImpl(MethodImplOptions.NoInlining)]
	static int Step(int x) => Work.Leaf(x) + 1;

	[MethodImpl(MethodImplOptions.NoInlining)]
	static long Inner(int a, int b, int c, int d)
	{
		long sum = 0;
		for (int i = 0; i < 20_000_000; i++)
			sum += Step(i) * a + b * c + d + i;
		return sum;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Forever()
	{
		for (int i = 0;; i++) {
			Work.Keep((int)Inner(i, 1, 2, 3));
			Work.Rounds++;
		}
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run() => Forever();
}

/// <summary>Code of the framework that was compiled before (ReadyToRun) between two methods of ours.</summary>
public static class Sorted
{
	public static readonly string[][] Paths = [["Sorted.Run", "Sorted.Compare", "Work.Leaf"]];
	static readonly Comparison<int> compare = Compare;
	[ThreadStatic] static int[]? items;

	[MethodImpl(MethodImplOptions.NoInlining)]
	static int Compare(int a, int b) => (Work.Leaf(a) & 0) + a - b;

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		items ??= new int[5000];
		for (int i = 0; i < items.Length; i++)
			items[i] = i * 7919 % items.Length;
		Array.Sort(items, compare);
	}
}

public static class Inlined
{
	public static readonly string[][] Paths = [["Inlined.Run", "Inlined.Twice", "Inlined.Add", "Work.Leaf"]];

	static int Add(int x) => Work.Leaf(x) + 1;
	static int Twice(int x) => Add(x) + Add(x + 1);

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		for (int i = 0; i < 200; i++)
			Work.Keep(Twice(i));
	}
}

/// <summary>Helpers of the runtime as leaves, below small methods: write barriers, casts, copies.</summary>
public static class Barriers
{
	public static readonly string[][] Paths = [
		["Barriers.Run", "Barriers.Outer", "Barriers.Store"],
		["Barriers.Run", "Barriers.Outer", "Barriers.Copy"],
		["Barriers.Run", "Barriers.Outer", "Work.Leaf"],
	];
	static readonly object[] place = new object[64];
	static readonly byte[] from = new byte[4096], to = new byte[4096];

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Store(object o, int i) => place[i & 63] = o;
	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Copy() => from.AsSpan().CopyTo(to);

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Outer(object o, int i)
	{
		Store(o, i);
		Copy();
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		string text = Environment.NewLine;
		for (int i = 0; i < 500; i++)
			Outer(text, i);
	}
}

/// <summary>Leaves in a library that keeps no frame pointer and is called by a small method.</summary>
public static class Libraries
{
	public static readonly string[][] Paths = [["Libraries.Run", "Libraries.Outer", "Libraries.Power"]];
	static double sum;

	[MethodImpl(MethodImplOptions.NoInlining)]
	static double Power(double x) => Math.Pow(x, 1.7) + 1;
	[MethodImpl(MethodImplOptions.NoInlining)]
	static double Outer(double x) => Power(x) + 2;

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		for (int i = 0; i < 500; i++)
			sum += Outer(i);
	}
}
