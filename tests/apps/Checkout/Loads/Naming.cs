namespace Checkout.Loads;

using System.Reflection.Emit;
using System.Runtime.CompilerServices;

/// <summary>Every kind of method name that a profile must spell well, with equal shares. The truth's keys say what a
/// reader expects to see.</summary>
static class Naming
{
    const int Units = 100;

    public static Task Run(Options options)
    {
        var steps = Steps().ToArray();
        new Thread(() =>
        {
            while (true)
            {
                foreach (var (truth, step) in steps)
                {
                    long start = Cpu.ThreadNs();
                    step();
                    truth.Since(start);
                }
                Progress.Count();
            }
        }) { IsBackground = true, Name = "namer" }.Start();
        return Task.CompletedTask;
    }

    static IEnumerable<(Meter, Action)> Steps()
    {
        var ints = new Cache<int, double>();
        var texts = new Cache<string, string>();
        IDiscount discount = new Voucher();
        var dynamic = MakeDynamic();
        var lambda = [MethodImpl(MethodImplOptions.NoInlining)] (int units) => Arithmetic.Burn(units, 1);
        int captured = Units;
        var closure = [MethodImpl(MethodImplOptions.NoInlining)] () => Arithmetic.Burn(captured, 2);

        yield return Step("generic class over values", () => ints.Lookup(1));
        yield return Step("generic class over references", () => texts.Lookup("a"));
        yield return Step("generic method over a value", () => Convert<long>(1));
        yield return Step("generic method over a reference", () => Convert<string>("a"));
        yield return Step("overload (int)", () => Price.Round(Units));
        yield return Step("overload (int, string)", () => Price.Round(Units, "EUR"));
        yield return Step("nested class", () => new Outer.Inner().Work());
        yield return Step("explicit interface", () => discount.Apply(Units));
        yield return Step("property", () => _ = new Price(Units).Net);
        yield return Step("operator", () => _ = new Price(Units) + new Price(Units));
        yield return Step("lambda", () => lambda(Units));
        yield return Step("closure", () => closure());
        yield return Step("local function", () => WithLocalFunction(Units));
        yield return Step("dynamic method", () => dynamic(Units));
        yield return Step("iterator", () => { foreach (double _ in Enumerate(Units)) { } });
    }

    static (Meter, Action) Step(string place, Action step) => (Meter.Named(place), step);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static double Convert<T>(T value) => Arithmetic.Burn(Units, 3);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static double WithLocalFunction(int units)
    {
        return Rounded();

        [MethodImpl(MethodImplOptions.NoInlining)]
        double Rounded() => Arithmetic.Burn(units, 4);
    }

    static IEnumerable<double> Enumerate(int units)
    {
        yield return Arithmetic.Burn(units, 5);
    }

    /// <summary>A method made at run time, named ApplyDiscountRule, with a loop of its own.</summary>
    static Func<int, double> MakeDynamic()
    {
        var method = new DynamicMethod("ApplyDiscountRule", typeof(double), new[] { typeof(int) }, typeof(Naming).Module);
        var il = method.GetILGenerator();
        var x = il.DeclareLocal(typeof(double));
        var left = il.DeclareLocal(typeof(int));
        var loop = il.DefineLabel();
        il.Emit(OpCodes.Ldc_R8, 1.0);
        il.Emit(OpCodes.Stloc, x);
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ldc_I4, 500);
        il.Emit(OpCodes.Mul);
        il.Emit(OpCodes.Stloc, left);
        il.MarkLabel(loop);
        il.Emit(OpCodes.Ldloc, x);
        il.Emit(OpCodes.Ldc_R8, 1.0001);
        il.Emit(OpCodes.Mul);
        il.Emit(OpCodes.Ldloc, left);
        il.Emit(OpCodes.Conv_R8);
        il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Call, typeof(Math).GetMethod(nameof(Math.Sqrt))!);
        il.Emit(OpCodes.Stloc, x);
        il.Emit(OpCodes.Ldloc, left);
        il.Emit(OpCodes.Ldc_I4_1);
        il.Emit(OpCodes.Sub);
        il.Emit(OpCodes.Dup);
        il.Emit(OpCodes.Stloc, left);
        il.Emit(OpCodes.Brtrue, loop);
        il.Emit(OpCodes.Ldloc, x);
        il.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<int, double>>();
    }
}

sealed class Cache<TKey, TValue>
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public double Lookup(TKey key) => Arithmetic.Burn(100, 6);
}

interface IDiscount
{
    double Apply(int units);
}

sealed class Voucher : IDiscount
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    double IDiscount.Apply(int units) => Arithmetic.Burn(units, 7);
}

static class Outer
{
    public sealed class Inner
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public double Work() => Arithmetic.Burn(100, 8);
    }
}

readonly struct Price(int units)
{
    readonly int units = units;

    public double Net
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        get => Arithmetic.Burn(units, 9);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static double operator +(Price a, Price b) => Arithmetic.Burn(a.units, 10);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static double Round(int units) => Arithmetic.Burn(units, 11);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static double Round(int units, string currency) => Arithmetic.Burn(units, 12);
}
