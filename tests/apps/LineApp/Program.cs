// Lines that are known. Each shape runs on a thread of its own and calls methods that nobody else calls, so that a method tells from which line it was
// called; the compiler itself notes the lines ([CallerLineNumber]). Prints {"ready":true,...,"calls":{method: {caller: line}},"leaves":{method: line}} and goes
// on until it is ended. "leaves": the one line that a method spends its time in.
using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using System.Text;

namespace Lines;

public static class Program
{
	static readonly (string Name, Action Run)[] shapes = [
		("calls", Calls.Run), ("lambda", Lambdas.Run), ("async", () => Asynchronous.RunAsync().Wait()), ("iterator", Iterators.Run),
		("generic", Generics.Run), ("guarded", Guarded.Run), ("switch", Switched.Run), ("local", Locals.Run), ("inlined", Inlined.Run),
		("property", Properties.Run), ("slow", Slow.Run), ("two", Two.Run), ("joined", Joined.Run),
	];
	static long ops;

	public static void Main()
	{
		foreach (var (_, run) in shapes)
			run();
		Replaced.Rounds = 1;
		Replaced.Run();
		Replaced.Rounds = int.MaxValue;
		Truth.Open = false;
		foreach (var (name, run) in shapes)
			new Thread(() => Repeat(run)) { Name = name, IsBackground = true }.Start();
		new Thread(Replaced.Run) { Name = "replaced", IsBackground = true }.Start();
		string who = "\"pid\":" + Environment.ProcessId + ",\"port\":0,\"runtime\":\"" + Environment.Version + "\"";
		Console.WriteLine("{\"ready\":true," + who + "," + Truth.Json() + "}");
		while (true) {
			Thread.Sleep(200);
			Console.WriteLine("{\"ops\":" + Interlocked.Read(ref ops) + "}");
		}
	}

	static void Repeat(Action run)
	{
		while (true) {
			run();
			Interlocked.Increment(ref ops);
		}
	}
}

public static class Truth
{
	public static bool Open = true;
	static readonly ConcurrentDictionary<string, ConcurrentDictionary<string, int>> calls = new();
	static readonly ConcurrentDictionary<string, int> leaves = new();

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Call(string callee, string caller, int line) => calls.GetOrAdd(callee, _ => new())[caller] = line;

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Leaf(string method, int line) => leaves[method] = line;

	static string Line((string Key, int Value) x) => $"\"{x.Key}\":{x.Value}";

	public static string Json()
	{
		var text = new StringBuilder("\"calls\":{");
		text.AppendJoin(',', calls.Select(c => $"\"{c.Key}\":{{{string.Join(',', c.Value.Select(x => Line((x.Key, x.Value))))}}}"));
		text.Append("},\"leaves\":{").AppendJoin(',', leaves.Select(x => Line((x.Key, x.Value)))).Append('}');
		return text.ToString();
	}
}

/// <summary>The work of a leaf: one line of it holds all the time.</summary>
public static class Work
{
	public const int Rounds = 3000;
	[ThreadStatic] static int kept;

	public static void Keep(int x) => kept = x;
}

public static class Calls
{
	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		int sum = 0;
		for (int i = 0; i < 3; i++) {
			First(sum, "Calls.Run");
			sum ^= 5;
			Second(sum, "Calls.Run");
			if (sum != 17)
				Third(
					sum);
		}
		Work.Keep(sum);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void First(int x, string caller, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Calls.First", caller, line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Second(int x, string caller, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Calls.Second", caller, line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 37 + i;
		Work.Keep(x);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Third(int x, string caller = "Calls.Run", [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Calls.Third", caller, line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 41 + i;
		Work.Keep(x);
	}
}

public static class Lambdas
{
	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		int with = 7;
		Func<int, int> f = [MethodImpl(MethodImplOptions.NoInlining)] (x) => {
			x += with;
			First(x);
			return x ^ 3;
		};
		Work.Keep(f(1) + f(2));
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void First(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Lambdas.First", "Lambdas.Run.lambda", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}
}

public static class Asynchronous
{
	public static async Task RunAsync()
	{
		int sum = 1;
		First(sum);
		await Task.Yield();
		Second(sum);
		for (int i = 0; i < 2; i++) {
			await Task.Yield();
			Third(sum);
		}
		Work.Keep(sum);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void First(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Asynchronous.First", "Asynchronous.RunAsync", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Second(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Asynchronous.Second", "Asynchronous.RunAsync", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Third(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Asynchronous.Third", "Asynchronous.RunAsync", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}
}

public static class Iterators
{
	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		int sum = 0;
		foreach (int x in Numbers(3))
			sum += x;
		Work.Keep(sum);
	}

	static IEnumerable<int> Numbers(int count)
	{
		int x = 1;
		for (int i = 0; i < count; i++) {
			First(x);
			yield return x;
			Second(x);
		}
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void First(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Iterators.First", "Iterators.Numbers", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Second(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Iterators.Second", "Iterators.Numbers", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}
}

public static class Generics
{
	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Run()
	{
		Do(3);
		Do("text");
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Do<T>(T value) where T : notnull
	{
		Work.Keep(value.GetHashCode());
		First(4);
		Work.Keep(5);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void First(int x, [CallerLineNumber] int line = 0)
	{
		if (Truth.Open)
			Truth.Call("Generics.First", "Generics.Do", line);
		for (int i = 0; i < Work.Rounds; i++) x = x * 31 + i;
		Work.Keep(x);
	}
}
