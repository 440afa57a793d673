namespace Shop.Seats
{
    using Shop.Hosting;

    /// <summary>Whoever books a seat asks the payment service with the map of seats locked: eleven others wait.</summary>
    [Load("block-new-lock")]
    static class SeatMap
    {
#if NET9_0_OR_GREATER
        static readonly Lock Gate = new();
#else
        static readonly object Gate = new();
#endif
        static readonly HttpClient Http = new();
        static int port;

        public static void Start()
        {
            port = Elsewhere.Start();
            for (int i = 0; i < 12; i++)
                Service.Every("box-office-" + i, 5, Book);
        }

        static void Book()
        {
            lock (Gate)
                Pay();
        }

        static void Pay()
        {
            using var answer = Http.Send(new HttpRequestMessage(HttpMethod.Get, $"http://127.0.0.1:{port}/30"));
            GC.KeepAlive(answer.StatusCode);
        }
    }
}

namespace Shop.Exchange
{
    using Shop.Hosting;

    /// <summary>Rates expire each 400 ms, and all who need one wait for the one that computes it: Lazy runs its function once.</summary>
    [Load("block-lazy")]
    static class ExchangeRates
    {
        static volatile Lazy<decimal> rate = new(Load);

        public static void Start()
        {
            ThreadPool.SetMinThreads(16, 4);
            Service.Every("expire", 400, () => rate = new Lazy<decimal>(Load));
            for (int i = 0; i < 10; i++)
                _ = Task.Run(Quotes);
        }

        static async Task Quotes()
        {
            for (; ; await Task.Delay(5))
                Quote();
        }

        static void Quote() => GC.KeepAlive(rate.Value);

        static decimal Load()
        {
            Thread.Sleep(300); // a file from the bank
            return 1.09m;
        }
    }
}

namespace Shop.Reports
{
    using Shop.Hosting;

    /// <summary>Each report is put together from parts, in parallel, and a worker waits for all of them.</summary>
    [Load("block-wait-all")]
    static class ReportBuilder
    {
        public static void Start()
        {
            ThreadPool.SetMinThreads(8, 2);
            Service.Requests(20, _ => Task.Run(Build));
        }

        static void Build()
        {
            var parts = Enumerable.Range(0, 4).Select(Part).ToArray();
            Task.WaitAll(parts);
        }

        static async Task<int> Part(int number)
        {
            await Task.Delay(120);
            return number;
        }
    }
}

namespace Shop.Posters
{
    using System.Diagnostics;
    using Shop.Hosting;

    /// <summary>Posters are made by another program, and a worker of the pool waits for its end.</summary>
    [Load("block-process")]
    static class PosterPress
    {
        public static void Start()
        {
            ThreadPool.SetMinThreads(8, 2);
            for (int i = 0; i < 5; i++)
                _ = Task.Run(() => { while (true) Render(); });
        }

        static void Render()
        {
            using var tool = Process.Start("sleep", "0.3");
            tool.WaitForExit();
        }
    }
}

namespace Shop.Stocks
{
    using Shop.Hosting;

    /// <summary>Eight timers, whose callbacks ask a service that takes longer than their period: synchronously.</summary>
    [Load("block-timers")]
    static class StockTicker
    {
        static readonly List<Timer> Timers = new();
        static readonly HttpClient Http = new();
        static int port;

        public static void Start()
        {
            port = Elsewhere.Start();
            for (int i = 0; i < 8; i++)
                Timers.Add(new Timer(_ => Poll(), null, i * 30, 250));
        }

        static void Poll()
        {
            using var answer = Http.Send(new HttpRequestMessage(HttpMethod.Get, $"http://127.0.0.1:{port}/400"));
            GC.KeepAlive(answer.StatusCode);
        }
    }
}

namespace Shop.Labels
{
    using System.Collections.Concurrent;
    using Shop.Hosting;

    /// <summary>Workers hand labels to one slow printer through a queue of ten places, and wait for a free one.</summary>
    [Load("block-full-queue")]
    static class LabelQueue
    {
        static readonly BlockingCollection<string> Queue = new(10);

        public static void Start()
        {
            ThreadPool.SetMinThreads(10, 2);
            Service.Thread("printer", () =>
            {
                foreach (string label in Queue.GetConsumingEnumerable())
                    Thread.Sleep(label.Length);
            });
            for (int i = 0; i < 6; i++)
                _ = Task.Run(() => { while (true) Enqueue("to: somebody at some place"); });
        }

        static void Enqueue(string label) => Queue.Add(label);
    }
}

namespace Shop.Catalog
{
    using Shop.Hosting;

    /// <summary>Readers stay in the catalog for 80 ms each, one after the other, and eight workers that want to write wait for them.</summary>
    [Load("block-readers")]
    static class PriceBook
    {
        static readonly ReaderWriterLockSlim Book = new();
        static int version;

        public static void Start()
        {
            ThreadPool.SetMinThreads(12, 2);
            for (int i = 0; i < 3; i++)
                Service.Every("export-" + i, 1, Export);
            for (int i = 0; i < 8; i++)
                _ = Task.Run(Updates);
        }

        static async Task Updates()
        {
            for (; ; await Task.Delay(2))
                Update();
        }

        static void Export()
        {
            Book.EnterReadLock();
            Thread.Sleep(80);
            Book.ExitReadLock();
        }

        static void Update()
        {
            Book.EnterWriteLock();
            version++;
            Book.ExitWriteLock();
        }
    }
}

namespace Shop.Scales
{
    using Shop.Hosting;

    /// <summary>One pair of scales for all: a Mutex, which each worker keeps for 20 ms.</summary>
    [Load("block-mutex")]
    static class Scales
    {
        static readonly Mutex Turn = new();

        public static void Start()
        {
            ThreadPool.SetMinThreads(10, 2);
            for (int i = 0; i < 6; i++)
                _ = Task.Run(() => { while (true) Weigh(); });
        }

        static void Weigh()
        {
            Turn.WaitOne();
            Thread.Sleep(20);
            Turn.ReleaseMutex();
        }
    }
}
