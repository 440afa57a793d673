// Without a word: one tick after the other. "work": threads of known kinds, and what each has used of the CPU by the kernel's own account.
using System.Runtime.InteropServices;

if (args.Length == 0)
    for (long n = 1; ; n++)
    {
        Console.WriteLine($"tick {n}");
        Thread.Sleep(200);
    }

Shop.Orders.Start();
for (; ; Thread.Sleep(500))
    Console.WriteLine($"{{\"tax\":{Shop.Pricing.TaxSeconds:F3},\"discount\":{Shop.Pricing.DiscountSeconds:F3},\"lambda\":{Shop.Pricing.LambdaSeconds:F3}}}");

namespace Shop
{
    static partial class Clock
    {
        [StructLayout(LayoutKind.Sequential)]
        struct Timespec
        {
            public long Seconds, Nanoseconds;
        }

        const int ThreadCpu = 3;

        [LibraryImport("libc")]
        private static partial int clock_gettime(int clock, out Timespec time);

        public static double Used() => clock_gettime(ThreadCpu, out Timespec t) == 0 ? t.Seconds + t.Nanoseconds / 1e9 : 0;
    }

    static class Pricing
    {
        public static double TaxSeconds, DiscountSeconds, LambdaSeconds;
        static double sink;

        static double Tax(int rounds)
        {
            double sum = 0;
            for (int i = 1; i < rounds; i++)
                sum += Math.Sqrt(i) / (i + sum);
            return sum;
        }

        static double Discount<T>(int rounds, T item)
        {
            double sum = item!.GetHashCode();
            for (int i = 1; i < rounds; i++)
                sum += Math.Cbrt(i) / (i + sum);
            return sum;
        }

        // Each of three kinds of methods in turn, by far the most time in the first.
        public static void Work()
        {
            Func<int, double> round = rounds =>
            {
                double sum = 0;
                for (int i = 1; i < rounds; i++)
                    sum += Math.Log(i) / (i + sum);
                return sum;
            };
            for (; ; )
            {
                double from = Clock.Used();
                sink += Tax(6000000);
                double middle = Clock.Used();
                sink += Discount(400000, "item");
                double late = Clock.Used();
                sink += round(1000000);
                TaxSeconds += middle - from;
                DiscountSeconds += late - middle;
                LambdaSeconds += Clock.Used() - late;
            }
        }
    }

    static class Orders
    {
        static readonly object door = new();

        static void Hold()
        {
            lock (door)
                Thread.Sleep(Timeout.Infinite);
        }

        static void Wait()
        {
            lock (door)
                Thread.Sleep(0);
        }

        static async Task PollAsync()
        {
            for (; ; )
            {
                await Task.Delay(20);
                Store();
            }
        }

        static void Store() => Thread.Sleep(30); // a worker that sleeps

        static void Run(string name, ThreadStart what) => new Thread(what) { Name = name, IsBackground = true }.Start();

        public static void Start()
        {
            Run("holder", Hold);
            Thread.Sleep(100);
            for (int i = 0; i < 12; i++)
                Run($"waiter-{i}", Wait);
            Run("worker", Pricing.Work);
            for (int i = 0; i < 3; i++)
                _ = PollAsync();
        }
    }
}
