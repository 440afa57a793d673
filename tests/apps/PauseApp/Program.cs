// Pauses of known kind and number, on request. `PauseApp` prints {"ready":true,"pid":..,"runtime":..,"server":..}, then obeys the lines on its
// standard input, one after the other, and answers each with one JSON line: the truth before and after it.
//
//   induce COUNT MILLISECONDS GENERATION   Shop.Cache.Trim collects so often, with so long between
//   background COUNT                       asks for background collections and waits for each
//   churn COUNT                            allocates until the runtime has collected so often
//   large COUNT                            allocates large objects until so many collections of generation 2 were made
//   stubborn COUNT MILLISECONDS            collects while another thread, "stubborn", sits in native code that cannot be interrupted
//   alloc THREADS SECONDS                  allocates on so many threads; says how much
//   stat                                   nothing
//   exit
using System.Collections.Concurrent;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json;

namespace Shop;

public static class Cache
{
	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Trim(int generation)
	{
		GC.Collect(generation);
		Program.Touch();
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void TrimLater()
	{
		GC.Collect(2, GCCollectionMode.Forced, blocking: false);
		Program.Touch();
	}
}

/// <summary>Native code that the runtime takes for short: it neither interrupts it nor goes on without it.</summary>
public static unsafe class Native
{
	struct Spec
	{
		public long IntervalSec, IntervalNsec, ValueSec, ValueNsec;
	}

	[DllImport("libc")]
	static extern int timerfd_create(int clock, int flags);

	[DllImport("libc")]
	static extern int timerfd_settime(int fd, int flags, Spec* value, Spec* before);

	[DllImport("libc"), SuppressGCTransition]
	static extern nint read(int fd, void* into, nint len);

	static readonly int timer = timerfd_create(1, 0);
	public static readonly BlockingCollection<int> Order = [], Done = [];

	public static void Serve()
	{
		foreach (int milliseconds in Order.GetConsumingEnumerable()) {
			Sit(milliseconds);
			Done.Add(milliseconds);
		}
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Sit(int milliseconds)
	{
		var spec = new Spec { ValueSec = milliseconds / 1000, ValueNsec = milliseconds % 1000 * 1_000_000L };
		long fired;
		timerfd_settime(timer, 0, &spec, null);
		read(timer, &fired, sizeof(long));
		Program.Touch();
	}
}

public static class Program
{
	static long touched;
	static object? kept;

	[MethodImpl(MethodImplOptions.NoInlining)]
	public static void Touch() => touched++;

	sealed record Truth(int Gen0, int Gen1, int Gen2, double PausedMs, double NowMs);

	static Truth Look() => new(GC.CollectionCount(0), GC.CollectionCount(1), GC.CollectionCount(2), GC.GetTotalPauseDuration().TotalMilliseconds,
		Stopwatch.GetTimestamp() * 1000.0 / Stopwatch.Frequency);

	static void Induce(int count, int milliseconds, int generation)
	{
		for (int i = 0; i < count; i++) {
			Cache.Trim(generation);
			Thread.Sleep(milliseconds);
		}
	}

	static void Background(int count)
	{
		var many = Enumerable.Range(0, 400_000).Select(n => new byte[100]).ToArray(); // a small heap is not worth it
		GC.Collect();
		GC.Collect(); // it is in generation 2 by now, also where generation 0 has room for all of it: as large as the processor's cache
		for (int i = 0; i < count; i++) {
			long before = GC.GetGCMemoryInfo(GCKind.Background).Index;
			Cache.TrimLater();
			for (int ms = 0; GC.GetGCMemoryInfo(GCKind.Background).Index == before && ms < 5000; ms++)
				Thread.Sleep(1);
		}
		GC.KeepAlive(many);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Churn(int count)
	{
		var recent = new object[1000];
		int end = GC.CollectionCount(0) + count;
		for (int i = 0; GC.CollectionCount(0) < end; i++)
			recent[i % recent.Length] = new byte[200];
		kept = recent;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Large(int count)
	{
		int end = GC.CollectionCount(2) + count;
		for (int i = 0; GC.CollectionCount(2) < end; i++)
			kept = new byte[1_000_000 + i % 7];
		kept = null;
	}

	static void Stubborn(int count, int milliseconds)
	{
		for (int i = 0; i < count; i++) {
			Native.Order.Add(milliseconds);
			Thread.Sleep(milliseconds / 4);
			Cache.Trim(0);
			Native.Done.Take();
		}
	}

	static TimeSpan Cpu() => Process.GetCurrentProcess().TotalProcessorTime;

	static void Allocate(int threads, int seconds)
	{
		var cpu = Cpu();
		long before = allocated;
		long end = Stopwatch.GetTimestamp() + seconds * Stopwatch.Frequency;
		var all = Enumerable.Range(0, threads).Select(n => new Thread(() => AllocateUntil(end)) { Name = "alloc" + n }).ToList();
		all.ForEach(t => t.Start());
		all.ForEach(t => t.Join());
		rate = (allocated - before) / (Cpu() - cpu).TotalSeconds;
	}

	static long allocated;
	static double rate; // objects for each second of the process's CPU time, the last time

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void AllocateUntil(long end)
	{
		var recent = new object[1000];
		long n = 0;
		while (Stopwatch.GetTimestamp() < end)
			for (int i = 0; i < 1000; i++, n++)
				recent[i] = new byte[100];
		Interlocked.Add(ref allocated, n);
	}

	static void Obey(string[] words)
	{
		int Number(int at) => at < words.Length ? int.Parse(words[at]) : 1;
		switch (words[0]) {
		case "induce": Induce(Number(1), Number(2), Number(3)); break;
		case "background": Background(Number(1)); break;
		case "churn": Churn(Number(1)); break;
		case "large": Large(Number(1)); break;
		case "stubborn": Stubborn(Number(1), Number(2)); break;
		case "alloc": Allocate(Number(1), Number(2)); break;
		case "stat": break;
		case "exit": Environment.Exit(0); break;
		default: throw new ArgumentException("unknown request: " + words[0]);
		}
	}

	static void Print(object line)
	{
		Console.Out.WriteLine(JsonSerializer.Serialize(line));
		Console.Out.Flush();
	}

	public static void Main()
	{
		new Thread(Native.Serve) { IsBackground = true, Name = "stubborn" }.Start();
		Native.Order.Add(1); // so that it is compiled
		Native.Done.Take();
		Print(new { ready = true, pid = Environment.ProcessId, runtime = Environment.Version.ToString(), port = 0,
			server = System.Runtime.GCSettings.IsServerGC });
		while (Console.ReadLine() is string line) {
			var before = Look();
			Obey(line.Split(' '));
			var after = Look();
			Print(new { did = line, before, after, allocated, rate });
		}
	}
}
