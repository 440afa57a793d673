// Shapes of statements: see Program.cs.
using System.Runtime.CompilerServices;

namespace Lines;

public static class Guarded
{
	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		int sum = 1;
		try {
			First(sum);
			if (sum == 12345)
				throw new InvalidOperationException();
		} catch (InvalidOperationException) {
			sum = 0;
		} finally {
			Second(sum);
		}
		Work.Keep(sum);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void First(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Guarded.First", "Guarded.Run", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Second(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Guarded.Second", "Guarded.Run", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}
}

public static class Switched
{
	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		int sum = 0;
		for (int i = 0; i < 6; i++)
			switch (i % 3) {
			case 0:
				First(sum);
				break;
			case 1:
				Second(sum);
				break;
			default:
				sum = i;
				break;
			}
		Work.Keep(sum);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void First(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Switched.First", "Switched.Run", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Second(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Switched.Second", "Switched.Run", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}
}

public static class Locals
{
	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		Work.Keep(Twice(2));

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Twice(int x)
		{
			First(x);
			return x * 2;
		}
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void First(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Locals.First", "Locals.Run.Twice", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}
}

/// <summary>Small is inlined into Run by the compiler that optimizes: then the line is that of its call, else its own.</summary>
public static class Inlined
{
	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		Work.Keep(3);
		Work.Keep(2);
		Small(5);
		Work.Keep(6);
	}

	[MethodImpl(MethodImplOptions.AggressiveInlining)]
	static void Small(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Inlined.First", "Inlined.Run", line);
		x ^= 1;
		First(x);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void First(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Inlined.First", "Inlined.Small", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}
}

public static class Properties
{
	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run() => Work.Keep(Value);

	static int Value {
		[MethodImpl(MethodImplOptions.NoInlining)]
		get {
			Work.Keep(Environment.TickCount);
			First(7);
			return 8;
		}
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void First(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Properties.First", "Properties.Value.get", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}
}

/// <summary>Code that is never optimized.</summary>
public static class Slow
{
	[MethodImpl(MethodImplOptions.NoOptimization | MethodImplOptions.NoInlining)]
	public static void Run()
	{
		Work.Keep(2);
		First(3);
		Work.Keep(4);
	}

	[MethodImpl(MethodImplOptions.NoOptimization | MethodImplOptions.NoInlining)]
	static void First(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Slow.First", "Slow.Run", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}
}

/// <summary>Code that is replaced while it runs: it is called once.</summary>
public static class Replaced
{
	public static int Rounds;

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		int sum = 0;
		for (int i = 0; i < Rounds; i++) {
			sum ^= i;
			First(sum);
			sum ^= 9;
		}
		Work.Keep(sum);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void First(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Replaced.First", "Replaced.Run", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}
}

/// <summary>A value goes from one statement to the next without a variable: the compiler makes one of them, and either line may be told.</summary>
public static class Joined
{
	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		int made = First(3);
		Second(made);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static int First(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Joined.First", "Joined.Run", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		return x;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Second(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Joined.Second", "Joined.Run", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}
}

/// <summary>Two lines of one method, three parts of the time in the first of them and one in the second.</summary>
public static class Two
{
	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run() => Work.Keep(First(4) + Second(4));

	[MethodImpl(MethodImplOptions.NoInlining)]
	static int First(int x)
	{
		for (int i = 0; i < 3 * Work.Rounds; i++) x = x * 31 + i; Note("Two.First");
		x ^= 11;
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		return x;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static int Second(int x)
	{
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i; Note("Two.Second");
		return x;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Note(string method, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Leaf(method, line);
	}
}
