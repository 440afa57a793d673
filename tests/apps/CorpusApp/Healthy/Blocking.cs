namespace Shop.Prices
{
    using Shop.Hosting;

    /// <summary>Ten readers a millisecond, and a writer that is done in a moment: the lock is held much of the time, and hardly anybody waits.</summary>
    [Load("rw-readers")]
    static class PriceTable
    {
        static readonly ReaderWriterLockSlim Table = new();
        static readonly Dictionary<int, decimal> Prices = new();

        public static void Start()
        {
            Service.Every("update", 50, Update);
            for (int i = 0; i < 10; i++)
                Service.Every("lookup-" + i, 1, Look);
        }

        static void Update()
        {
            Table.EnterWriteLock();
            Prices[Prices.Count % 1000] = Prices.Count;
            Table.ExitWriteLock();
        }

        static void Look()
        {
            Table.EnterReadLock();
            Prices.TryGetValue(7, out _);
            Table.ExitReadLock();
        }
    }
}

namespace Shop.Counters
{
    using Shop.Hosting;

    /// <summary>Eight workers that count in one lock, for some microseconds each five milliseconds.</summary>
    [Load("lock-short")]
    static class VisitCounter
    {
#if NET9_0_OR_GREATER
        static readonly Lock Gate = new();
#else
        static readonly object Gate = new();
#endif
        static readonly Dictionary<string, int> Visits = new();

        public static void Start()
        {
            for (int i = 0; i < 8; i++)
                _ = Task.Run(Visitors);
        }

        static async Task Visitors()
        {
            for (; ; await Task.Delay(5))
                Count("/products");
        }

        static void Count(string page)
        {
            lock (Gate)
                Visits[page] = Visits.GetValueOrDefault(page) + 1;
        }
    }
}

namespace Shop.Startup
{
    using Shop.Hosting;

    /// <summary>An old main loop: a thread that waits for ever for the task that is the service, two long-running tasks that wait for theirs, and one that
    /// joins a thread.</summary>
    [Load("main-waits")]
    static class OldHost
    {
        public static void Start()
        {
            var never = new TaskCompletionSource();
            Service.Thread("main-loop", () => never.Task.Wait());
            for (int i = 0; i < 2; i++)
                Task.Factory.StartNew(() => never.Task.GetAwaiter().GetResult(), TaskCreationOptions.LongRunning);
            var worker = new Thread(() => never.Task.Wait()) { IsBackground = true, Name = "old-worker" };
            worker.Start();
            Service.Thread("joiner", worker.Join);
        }
    }
}

namespace Shop.Throttle
{
    using Shop.Hosting;

    /// <summary>Two hundred tasks that share four places by WaitAsync: what waits are operations, and no thread does.</summary>
    [Load("throttle-async")]
    static class ImportThrottle
    {
        static readonly SemaphoreSlim Places = new(4);

        public static void Start()
        {
            for (int i = 0; i < 200; i++)
                _ = Import();
        }

        static async Task Import()
        {
            while (true)
            {
                await Places.WaitAsync();
                await Task.Delay(20);
                Places.Release();
            }
        }
    }
}

namespace Shop.Backups
{
    using System.Diagnostics;
    using Shop.Hosting;

    /// <summary>Another program is started again and again, and its end is awaited.</summary>
    [Load("process-async")]
    static class BackupRunner
    {
        public static void Start()
        {
            for (int i = 0; i < 3; i++)
                _ = Run();
        }

        static async Task Run()
        {
            while (true)
            {
                using var tool = Process.Start("sleep", "0.5");
                await tool.WaitForExitAsync();
            }
        }
    }
}

namespace Shop.Pricing
{
    using Shop.Hosting;

    /// <summary>A round of parallel work each 300 ms: whoever began it waits for the others' last steps.</summary>
    [Load("parallel-rounds")]
    static class Repricing
    {
        public static void Start() => Service.Every("repricing", 300, () => Parallel.For(0, 64, Reprice));

        static void Reprice(int product)
        {
            double price = product;
            for (int i = 0; i < 20_000; i++)
                price = Math.Sqrt(price * i + 1);
            GC.KeepAlive(price);
        }
    }
}

namespace Shop.Instances
{
    using Shop.Hosting;

    /// <summary>The thread that keeps the mutex of the one instance, another one that waits to be told to end, and a worker that blocks for a moment once a
    /// second.</summary>
    [Load("one-instance")]
    static class SingleInstance
    {
        static readonly Mutex Only = new();
        static readonly ManualResetEvent End = new(false);

        public static void Start()
        {
            Service.Thread("instance", () =>
            {
                Only.WaitOne();
                End.WaitOne();
            });
            Service.Thread("second-instance", () => Only.WaitOne());
            Service.Requests(1, _ => Task.Run(Look));
        }

        static void Look() => End.WaitOne(40);
    }
}
