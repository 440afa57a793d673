using System.Runtime.CompilerServices;

namespace Checkout.Pricing
{
    public static class Tax
    {
        static readonly Meter Truth = Meter.Named("Checkout.Pricing.Tax.Compute");

        public static double Metered(int units)
        {
            long start = Cpu.ThreadNs();
            double tax = Compute(units);
            Truth.Since(start);
            return tax;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static double Compute(int units) => Arithmetic.Burn(units, 1);
    }
}

namespace Checkout.Inventory
{
    public static class Stock
    {
        static readonly Meter Truth = Meter.Named("Checkout.Inventory.Stock.Check");

        public static double Metered(int units)
        {
            long start = Cpu.ThreadNs();
            double stock = Check(units);
            Truth.Since(start);
            return stock;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static double Check(int units) => Arithmetic.Burn(units, 2);
    }
}

namespace Checkout
{
    public static class Cart
    {
        public static double Sink;

        /// <summary>80% tax, 20% stock, some milliseconds together at 1,000 units.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Total(int units)
        {
            Sink += Pricing.Tax.Metered(units * 8 / 10);
            Sink += Inventory.Stock.Metered(units * 2 / 10);
            Progress.Count();
        }
    }

    public static class Payment
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static double Charge(int units) => Arithmetic.Burn(units, 3);
    }

    public static class Shipping
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static double Quote(int units) => Arithmetic.Burn(units, 4);
    }

    public static class Mail
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static double Render(int units) => Arithmetic.Burn(units, 5);
    }

    public static class Audit
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static double Append(int units) => Arithmetic.Burn(units, 6);
    }
}
