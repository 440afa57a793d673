// Methods of every shape whose name the profiler library must spell; each burns CPU in turn, so that sampling meets all of them.
//   names shapes THREADS   runs all shapes for ever on THREADS threads
//   names idle             sleeps
//   names spin THREADS     THREADS threads that only compute
//   names churn            makes, runs and drops dynamic methods
//   names collect          loads, runs and unloads collectible assemblies for ever
//   names loaded THREADS   shapes on THREADS threads, two more that allocate and collect, and one that stumbles
//   names stumble THREADS  THREADS threads that catch a NullReferenceException or a DivideByZeroException, one after the other
//   ... [SECONDS]          after THREADS: how long until it ends by itself; else never
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;

namespace Shop;

public static class Burn
{
	public static double Sink;

	[MethodImpl(MethodImplOptions.AggressiveInlining)]
	public static void Spin()
	{
		double x = 1;
		for (int i = 0; i < 400_000; i++)
			x = x * 1.0000001 + 0.5;
		Sink = x;
	}
}

public class Outer<T>
{
	public class Inner
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public void InGenericNested(T t) { Burn.Spin(); }
	}

	public struct Pair<U>
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public void InPair(T t, U u, List<U[]> list) { Burn.Spin(); }
	}
}

public class Cart
{
	[MethodImpl(MethodImplOptions.NoInlining)] public void Plain() { Burn.Spin(); }
	[MethodImpl(MethodImplOptions.NoInlining)] public void Total(int a) { Burn.Spin(); }
	[MethodImpl(MethodImplOptions.NoInlining)] public void Total(string a, ref long b, int[,] c) { Burn.Spin(); }
	[MethodImpl(MethodImplOptions.NoInlining)] public static unsafe void Pointers(byte* p, nint n, object o, DateTime d) { Burn.Spin(); }
	[MethodImpl(MethodImplOptions.NoInlining)] public static void Generic<K, V>(K k, V v, Dictionary<K, V>? d) where K : notnull { Burn.Spin(); }
	[MethodImpl(MethodImplOptions.NoInlining)] public static void Modified(in int x, Outer<int>.Inner inner) { Burn.Spin(); }

	public async Task Compute()
	{
		Burn.Spin();
		await Task.Yield();
		Burn.Spin();
	}

	public void Lambda()
	{
		Action a = [MethodImpl(MethodImplOptions.NoInlining)] () => Burn.Spin();
		a();
	}

	public void Local()
	{
		[MethodImpl(MethodImplOptions.NoInlining)] static void LocalWork() { Burn.Spin(); }
		LocalWork();
	}
}

static class Program
{
	static Action MakeDynamic(string name)
	{
		var m = new DynamicMethod(name, typeof(void), Type.EmptyTypes, typeof(Program).Module, true);
		var il = m.GetILGenerator();
		var loop = il.DefineLabel();
		var x = il.DeclareLocal(typeof(double));
		var i = il.DeclareLocal(typeof(int));
		il.Emit(OpCodes.Ldc_R8, 1.0);
		il.Emit(OpCodes.Stloc, x);
		il.MarkLabel(loop);
		il.Emit(OpCodes.Ldloc, x);
		il.Emit(OpCodes.Ldc_R8, 1.0000001);
		il.Emit(OpCodes.Mul);
		il.Emit(OpCodes.Stloc, x);
		il.Emit(OpCodes.Ldloc, i);
		il.Emit(OpCodes.Ldc_I4_1);
		il.Emit(OpCodes.Add);
		il.Emit(OpCodes.Dup);
		il.Emit(OpCodes.Stloc, i);
		il.Emit(OpCodes.Ldc_I4, 400_000);
		il.Emit(OpCodes.Blt, loop);
		il.Emit(OpCodes.Ret);
		return m.CreateDelegate<Action>();
	}

	static int restMs; // after each round of Shapes

	static unsafe void Shapes()
	{
		var cart = new Cart();
		var nested = new Outer<int>.Inner();
		var nestedRef = new Outer<string>.Inner();
		var pair = new Outer<int>.Pair<DateTime>();
		var early = MakeDynamic("EarlyDynamic");
		long l = 0;
		int n = 0;
		byte b = 0;
		while (true) {
			cart.Plain();
			cart.Total(1);
			cart.Total("x", ref l, new int[1, 1]);
			Cart.Pointers(&b, 1, "o", default);
			Cart.Generic<int, DateTime>(1, default, null);
			Cart.Generic<string, int>("k", 2, null);
			Cart.Modified(in n, nested);
			nested.InGenericNested(3);
			nestedRef.InGenericNested("s");
			pair.InPair(1, default, new List<DateTime[]>());
			cart.Compute().Wait();
			cart.Lambda();
			cart.Local();
			early();
			if (restMs > 0)
				Thread.Sleep(restMs);
		}
	}

	static void Churn()
	{
		for (int k = 0; ; k++) {
			var d = MakeDynamic("Dyn" + k);
			for (int i = 0; i < 100; i++)
				d();
			if (k % 8 == 0)
				GC.Collect();
		}
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void LoadAndRun(string path)
	{
		var alc = new AssemblyLoadContext("c", true);
		var asm = alc.LoadFromAssemblyPath(path);
		var m = asm.GetType("Shop.Cart")!.GetMethod("Plain")!;
		m.Invoke(Activator.CreateInstance(asm.GetType("Shop.Cart")!), null);
		alc.Unload();
	}

	static void Collect()
	{
		for (;;) {
			LoadAndRun(typeof(Program).Assembly.Location);
			GC.Collect();
			GC.WaitForPendingFinalizers();
		}
	}

	// Survivors and rubbish; now and then a full collection.
	static void Allocate()
	{
		var kept = new object[4096];
		for (int i = 0; ; i++) {
			kept[i % kept.Length] = new byte[100 + i % 900];
			if (i % 1_000_000 == 0)
				GC.Collect();
			if (i % 10_000 == 0)
				Thread.Sleep(2); // the processors are others', too
		}
	}

	[MethodImpl(MethodImplOptions.NoInlining)] static int Length(string? s) => s!.Length;
	[MethodImpl(MethodImplOptions.NoInlining)] static int Divide(int a, int b) => a / b;

	// The runtime makes these exceptions out of signals.
	static void Stumble(int restMs)
	{
		for (int i = 0; ; i++) {
			try {
				_ = i % 2 == 0 ? Length(null) : Divide(i, 0);
			} catch (NullReferenceException) {
			} catch (DivideByZeroException) {
			}
			if (restMs > 0)
				Thread.Sleep(restMs);
		}
	}

	static void Main(string[] args)
	{
		string mode = args.Length > 0 ? args[0] : "idle";
		int threads = args.Length > 1 ? int.Parse(args[1]) : 1;
		if (mode == "loaded")
			for (int i = 0; i < 2; i++)
				new Thread(Allocate) { IsBackground = true, Name = "allocate" + i }.Start();
		restMs = mode == "loaded" ? 20 : 0;
		if (mode == "shapes" || mode == "loaded")
			for (int i = 0; i < threads; i++)
				new Thread(Shapes) { IsBackground = true, Name = "shapes" + i }.Start();
		if (mode == "loaded")
			new Thread(() => Stumble(1)) { IsBackground = true, Name = "stumble" }.Start();
		if (mode == "stumble")
			for (int i = 0; i < threads; i++)
				new Thread(() => Stumble(0)) { IsBackground = true, Name = "stumble" + i }.Start();
		if (mode == "spin")
			for (int i = 0; i < threads; i++)
				new Thread(() => { for (;;) Burn.Spin(); }) { IsBackground = true, Name = "spin" + i }.Start();
		if (mode == "churn")
			new Thread(Churn) { IsBackground = true, Name = "churn" }.Start();
		if (mode == "collect")
			new Thread(Collect) { IsBackground = true, Name = "collect" }.Start();
		Console.WriteLine("ready");
		Thread.Sleep(args.Length > 2 ? (int)(double.Parse(args[2], System.Globalization.CultureInfo.InvariantCulture) * 1000) : -1);
	}
}
