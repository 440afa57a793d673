namespace Shop.Invoices
{
    using Shop.Hosting;

    sealed record Invoice(int Id, string Text);

    sealed class InvoiceStore(HttpClient http, int port)
    {
        public async Task<Invoice> FindAsync(int id) => new(id, await http.GetStringAsync($"http://127.0.0.1:{port}/60"));
    }

    /// <summary>The controller is not async, the store is: each request keeps a worker until another one completes the call.</summary>
    [Load("wait-controller")]
    sealed class InvoiceController(InvoiceStore store)
    {
        public static Task Start()
        {
            var store = new InvoiceStore(new HttpClient(), Elsewhere.Start());
            return Web.Serve(services => services.AddSingleton(store).AddScoped<InvoiceController>(),
                app => app.MapGet("/invoices/{id:int}", (int id, InvoiceController controller) => controller.Get(id)), "/invoices/7", 48, 5);
        }

        public Invoice Get(int id) => store.FindAsync(id).GetAwaiter().GetResult();
    }
}

namespace Shop.Mailing
{
    using Shop.Hosting;

    interface IPostOffice
    {
        Task Deliver(string letter);
    }

    sealed class SlowPostOffice : IPostOffice
    {
        public async Task Deliver(string letter)
        {
            await Task.Delay(30 + letter.Length);
            GC.KeepAlive(letter);
        }
    }

    /// <summary>Letters of a campaign leave in parallel, and each worker waits for the delivery.</summary>
    [Load("wait-campaign")]
    static class CampaignSender
    {
        static readonly IPostOffice Office = new SlowPostOffice();

        public static void Start()
        {
            ThreadPool.SetMinThreads(12, 2);
            Service.Thread("campaign", () =>
            {
                for (int round = 0; ; round++)
                    Parallel.ForEach(Enumerable.Range(0, 100), new ParallelOptions { MaxDegreeOfParallelism = 8 }, n => Send(round, n));
            });
        }

        static void Send(int round, int customer) => Office.Deliver($"Dear customer {customer}, offer {round}").Wait();
    }
}

namespace Shop.Audit
{
    using System.Text;
    using Shop.Hosting;

    /// <summary>One journal for all, and whoever writes to it holds its lock for as long as the disk takes.</summary>
    [Load("wait-convoy")]
    sealed class Journal
    {
        readonly object gate = new();
        readonly StringBuilder text = new();

        public static void Start()
        {
            var journal = new Journal();
            for (int i = 0; i < 12; i++)
            {
                string who = "clerk-" + i;
                Service.Every(who, 1, () => journal.Append(who));
            }
        }

        void Append(string who)
        {
            lock (gate)
            {
                text.Append(who);
                Thread.Sleep(3); // the disk
                if (text.Length > 10_000)
                    text.Clear();
            }
        }
    }
}

namespace Shop.Rates
{
    using Shop.Hosting;

    /// <summary>Many readers, and a writer that asks another service while it holds the lock for writing.</summary>
    [Load("wait-writer")]
    static class RateTable
    {
        static readonly ReaderWriterLockSlim Lock = new();
        static readonly HttpClient Http = new();
        static Dictionary<string, decimal> rates = new() { ["EUR"] = 1 };
        static int port;

        public static void Start()
        {
            port = Elsewhere.Start();
            Service.Every("rate-refresh", 20, Refresh);
            for (int i = 0; i < 10; i++)
                Service.Every("quote-" + i, 2, () => Rate("EUR"));
        }

        static void Refresh()
        {
            Lock.EnterWriteLock();
            try
            {
                using var answer = Http.Send(new HttpRequestMessage(HttpMethod.Get, $"http://127.0.0.1:{port}/200"));
                rates = new() { ["EUR"] = (decimal)answer.StatusCode };
            }
            finally
            {
                Lock.ExitWriteLock();
            }
        }

        static decimal Rate(string currency)
        {
            Lock.EnterReadLock();
            try
            {
                return rates[currency];
            }
            finally
            {
                Lock.ExitReadLock();
            }
        }
    }
}

namespace Shop.Scans
{
    using Shop.Hosting;

    /// <summary>A scanner that only one may use, taken with SemaphoreSlim.Wait() by workers of the pool.</summary>
    [Load("wait-semaphore")]
    static class ScannerQueue
    {
        static readonly SemaphoreSlim OneAtATime = new(1, 1);

        public static void Start()
        {
            ThreadPool.SetMinThreads(10, 2);
            for (int i = 0; i < 8; i++)
                _ = Task.Run(Work);
        }

        static void Work()
        {
            while (true)
                Scan();
        }

        static void Scan()
        {
            OneAtATime.Wait();
            try
            {
                Thread.Sleep(12);
            }
            finally
            {
                OneAtATime.Release();
            }
        }
    }
}

namespace Shop.Verbose
{
    using System.Runtime.InteropServices;
    using Shop.Hosting;

    /// <summary>A log to the console, whose reader takes 64 KB a second.</summary>
    [Load("wait-console")]
    static class ChattyBasket
    {
        [DllImport("libc")]
        static extern int pipe(int[] ends);

        [DllImport("libc")]
        static extern int dup2(int from, int to);

        public static void Start() => Service.Thread("basket-main", () =>
        {
            Thread.Sleep(1500); // what the tests read has been written
            int[] ends = new int[2];
            if (pipe(ends) != 0 || dup2(ends[1], 1) < 0)
                throw new InvalidOperationException();
            var reader = new FileStream(new Microsoft.Win32.SafeHandles.SafeFileHandle(ends[0], true), FileAccess.Read, 1);
            var buffer = new byte[6400];
            Service.Every("container-log", 100, () => reader.ReadAtLeast(buffer, 1));
            for (int i = 0; i < 4; i++)
                Service.Every("basket-" + i, 0, Add);
        });

        static void Add()
        {
            string item = $"item {Random.Shared.Next()} was put into the basket {new string('.', 120)}";
            Console.WriteLine($"{DateTime.UtcNow:O} info: Shop.Verbose.Basket[0] {item}");
        }
    }
}

namespace Shop.Ledger
{
    using System.Net.Sockets;
    using System.Text;
    using Shop.Hosting;

    /// <summary>A driver of a database as they used to be: a socket, a command, and a blocking read of the answer.</summary>
    sealed class LedgerConnection : IDisposable
    {
        readonly Socket socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        readonly byte[] answer = new byte[64];

        public LedgerConnection(int port) => socket.Connect("127.0.0.1", port);

        public int Query(int ms)
        {
            socket.Send(Encoding.ASCII.GetBytes(ms + "\n"));
            return socket.Receive(answer);
        }

        public void Dispose() => socket.Dispose();
    }

    [Load("wait-driver")]
    static class BalanceEndpoint
    {
        static int port;

        public static Task Start()
        {
            port = Elsewhere.Start();
            ThreadPool.SetMinThreads(32, 4);
            return Web.Serve(app => app.MapGet("/balance", () => Balance()), "/balance", 10, 5);
        }

        static int Balance()
        {
            using var connection = new LedgerConnection(port);
            return connection.Query(45);
        }
    }
}

namespace Shop.Labels
{
    using Shop.Hosting;

    /// <summary>Polls a printer in a loop of Thread.Sleep, in tasks.</summary>
    [Load("wait-polling")]
    static class LabelPrinter
    {
        static bool Ready { get; set; }

        public static void Start()
        {
            ThreadPool.SetMinThreads(12, 2);
            for (int i = 0; i < 9; i++)
                Task.Run(() =>
                {
                    while (true)
                        Print();
                });
        }

        static void Print()
        {
            for (int attempt = 0; attempt < 50 && !Ready; attempt++)
                Thread.Sleep(20);
        }
    }
}

namespace Shop.Packing
{
    using Shop.Hosting;

    /// <summary>A job of the pool waits for the signal of another one that answers late.</summary>
    [Load("wait-handshake")]
    static class PackingLine
    {
        public static void Start()
        {
            ThreadPool.SetMinThreads(16, 2);
            for (int i = 0; i < 7; i++)
                ThreadPool.QueueUserWorkItem(_ => { while (true) Pack(); });
        }

        static void Pack()
        {
            using var packed = new ManualResetEvent(false);
            using var timer = new Timer(_ => packed.Set(), null, 40, Timeout.Infinite);
            packed.WaitOne();
        }
    }
}

namespace Shop.Flash
{
    using Shop.Hosting;

    /// <summary>Each three seconds 120 orders come at once, and each blocks a worker for 150 ms: the pool has two, and adds one now and then.</summary>
    [Load("wait-burst")]
    static class FlashSale
    {
        static int port;
        static readonly HttpClient Http = new(new SocketsHttpHandler { MaxConnectionsPerServer = 500 });

        public static void Start()
        {
            port = Elsewhere.Start();
            Service.Every("sale-clock", 3000, () =>
            {
                for (int i = 0; i < 120; i++)
                    ThreadPool.QueueUserWorkItem(Order, i, false);
            });
        }

        static void Order(int number) => Charge(number).Result.Trim();

        static async Task<string> Charge(int number) => await Http.GetStringAsync($"http://127.0.0.1:{port}/{150 + number % 2}");
    }
}

namespace Shop.Rendering
{
    using Shop.Hosting;

    /// <summary>Four threads compute all the time; the container gets a seventh of a CPU.</summary>
    [Load("wait-throttled")]
    static class MapRenderer
    {
        static readonly double[] Tiles = new double[8];

        public static void Start()
        {
            for (int i = 0; i < 4; i++)
            {
                int tile = i;
                Service.Every("render-" + i, 0, () => Tiles[tile] += Draw(tile));
            }
        }

        static double Draw(int tile)
        {
            double sum = tile;
            for (int i = 1; i < 50_000; i++)
                sum += Math.Sqrt(i + sum % 3);
            return sum;
        }
    }
}

namespace Shop.Coupons
{
    using Shop.Hosting;

    /// <summary>One request at a time asks the coupon service, all others wait for the lock: whoever looks at the lock must find the call.</summary>
    [Load("wait-call-in-lock")]
    sealed class CouponCache
    {
        static readonly CouponCache Shared = new();
        readonly HttpClient http = new();
        int port;

        public static Task Start()
        {
            ThreadPool.SetMinThreads(24, 4);
            Shared.port = Elsewhere.Start();
            return Web.Serve(app => app.MapGet("/coupon", () => Shared.Find("X")), "/coupon", 12);
        }

        string Find(string code)
        {
            lock (this)
                return Ask(code);
        }

        string Ask(string code)
        {
            using var response = http.Send(new HttpRequestMessage(HttpMethod.Get, $"http://127.0.0.1:{port}/25"));
            return code + response.StatusCode;
        }
    }
}
