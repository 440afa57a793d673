namespace Shop;

using System.Runtime.CompilerServices;
using Checkout;

/// <summary>Small methods that call each other: optimized, none of them has a frame of its own. Cart and Invoice share what allocates; Cart asks for
/// three of four.</summary>
public static class Callers
{
    static object? kept;

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    static int Make()
    {
        kept = new byte[1000];
        return 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)] static int Shared() => Make() + 1;
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)] static int Cart() => Shared() + 1;
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)] static int Invoice() => Shared() + 2;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Work()
    {
        long sum = 0;
        for (long i = 0; ; i++)
        {
            sum += i % 4 == 0 ? Invoice() : Cart();
            if (i % 1000 == 0)
                Progress.Count();
        }
    }
}
