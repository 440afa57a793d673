namespace Checkout;

using System.Runtime.CompilerServices;

static class Arithmetic
{
    /// <summary>The same machine code wherever it is inlined, about 2.5 us a unit: so CPU follows the units.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static double Burn(int units, double x)
    {
        for (int i = 0; i < units * 500; i++)
            x = Math.Sqrt(x * 1.0001 + i);
        return x;
    }
}
