namespace Shop.Devices
{
    using System.Runtime.InteropServices;
    using Shop.Hosting;

    /// <summary>A driver's function does not return, and its caller has the lock of the device: all others wait for it.</summary>
    [Load("stand-native")]
    static class CardReader
    {
        static readonly object Device = new();

        [DllImport("libc")]
        static extern int pause();

        public static void Start()
        {
            Service.Thread("card-reader", () => { lock (Device) ReadCard(); });
            Thread.Sleep(200);
            for (int i = 0; i < 6; i++)
                Service.Thread("till-" + i, () => Pay());
        }

        static int ReadCard() => pause();

        static void Pay()
        {
            lock (Device)
                Console.Error.WriteLine("paid");
        }
    }
}

namespace Shop.Imports
{
    using System.Collections.Concurrent;
    using Shop.Hosting;

    /// <summary>A thread for each file, which then waits for a next one that never comes to it.</summary>
    [Load("stand-threads")]
    sealed class FileImport
    {
        readonly BlockingCollection<string> files = new();

        public static void Start() => Service.Every("inbox", 400, () => new FileImport().Begin("orders.csv"));

        void Begin(string file)
        {
            files.Add(file);
            new Thread(Run) { IsBackground = true }.Start();
        }

        void Run()
        {
            foreach (string file in files.GetConsumingEnumerable())
                GC.KeepAlive(file.ToUpperInvariant());
        }
    }

    /// <summary>A FileSystemWatcher for each tenant that comes, and none is disposed of: each has a thread of the runtime's.</summary>
    [Load("stand-watchers")]
    static class TenantFolders
    {
        static readonly List<FileSystemWatcher> Watchers = new();

        public static void Start()
        {
            string folder = Directory.CreateTempSubdirectory().FullName;
            Service.Every("tenants", 350, () => Watchers.Add(new FileSystemWatcher(folder, "*.json") { EnableRaisingEvents = true }));
        }
    }
}

namespace Shop.Handles
{
    using System.Net.Sockets;
    using System.Runtime.CompilerServices;
    using Shop.Hosting;

    /// <summary>Says goodbye to its server when it is collected, and the server does not answer.</summary>
    [Load("stand-finalizer")]
    sealed class RemoteFolder(Socket connection)
    {
        static readonly List<Socket> Connections = new();

        ~RemoteFolder() => Close();

        void Close()
        {
            connection.Send("close\n"u8);
            connection.Receive(new byte[8]);
        }

        public static void Start()
        {
            var connection = new Socket(SocketType.Stream, ProtocolType.Tcp);
            connection.Connect("127.0.0.1", Elsewhere.Start());
            Connections.Add(connection);
            Drop(connection);
            Service.Every("collect", 700, () => { GC.KeepAlive(new RemoteList()); GC.Collect(); });
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Drop(Socket connection) => GC.KeepAlive(new RemoteFolder(connection));

        sealed class RemoteList
        {
            ~RemoteList() => Console.Error.Write("");
        }
    }

    /// <summary>A finalizer wants a lock that a thread holds which waits for the finalizers.</summary>
    [Load("stand-finalizer-lock")]
    sealed class PooledBuffer
    {
        static readonly object Pool = new();

        ~PooledBuffer() => GiveBack();

        static void GiveBack()
        {
            lock (Pool)
                Console.Error.Write("");
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Use() => GC.KeepAlive(new PooledBuffer());

        public static void Start() => Service.Thread("trim", () =>
        {
            lock (Pool)
            {
                Use();
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
        });
    }
}

namespace Shop.Feeds
{
    using System.Net.Sockets;
    using Shop.Hosting;
    using Shop.Simulation;

    /// <summary>Subscribers whose server fell silent: each began when its shop opened, and reads for ever. Others work.</summary>
    [Load("stand-feeds")]
    static class ShopFeed
    {
        public static void Start()
        {
            int port = Elsewhere.Start();
            Service.Every("prices", 5, () => GC.KeepAlive(DemandModel.Step(2000)));
            Service.Every("stock", 7, () => GC.KeepAlive(DemandModel.Step(2000)));
            Service.Thread("openings", () =>
            {
                for (int shop = 0; shop < 24; shop++, Thread.Sleep(600))
                    Service.Thread("feed-" + shop, () => Listen(port));
            });
        }

        static void Listen(int port)
        {
            using var client = new TcpClient("127.0.0.1", port);
            using var reader = new StreamReader(client.GetStream());
            client.Client.Send("prices\n"u8);
            while (reader.ReadLine() is { } line)
                GC.KeepAlive(line);
        }
    }

    /// <summary>A lock is taken by a method that throws before the finally begins: those that come after wait for ever, beside busy ones.</summary>
    [Load("stand-abandoned")]
    static class PriceUpdate
    {
        static readonly object Prices = new();

        public static void Start()
        {
            Service.Every("busy", 3, () => GC.KeepAlive(DemandModel.Step(2000)));
            Service.Thread("updater", () =>
            {
                try
                {
                    Monitor.Enter(Prices);
                    throw new FormatException();
                }
                catch (FormatException)
                {
                }
                Thread.Sleep(Timeout.Infinite);
            });
            Thread.Sleep(100);
            for (int i = 0; i < 9; i++)
                Service.Thread("shop-" + i, Apply);
        }

        static void Apply()
        {
            Monitor.Enter(Prices);
            Monitor.Exit(Prices);
        }
    }

    /// <summary>Each request blocks on a task that is completed by a message that does not come.</summary>
    [Load("stand-pool")]
    static class QuoteDesk
    {
        static readonly TaskCompletionSource<int> Opening = new();

        public static void Start()
        {
            ThreadPool.SetMinThreads(8, 2);
            for (int i = 0; i < 40; i++)
                ThreadPool.QueueUserWorkItem(_ => Quote());
        }

        static int Quote() => Opening.Task.Result;
    }
}

namespace Shop.Accounts
{
    using Shop.Hosting;

    sealed class Account(string owner)
    {
        public string Owner => owner;
        public decimal Balance { get; private set; }

        public void TransferTo(Account other, decimal amount)
        {
            lock (this)
            {
                Balance -= amount;
                Thread.Sleep(50);
                other.Receive(amount);
            }
        }

        void Receive(decimal amount)
        {
            lock (this)
                Balance += amount;
        }
    }

    /// <summary>Two transfers in opposite directions.</summary>
    [Load("lock-transfer")]
    static class Bank
    {
        public static void Start()
        {
            Account ann = new("Ann"), bob = new("Bob");
            Service.Every("standing-order-1", 5, () => ann.TransferTo(bob, 1));
            Service.Every("standing-order-2", 5, () => bob.TransferTo(ann, 1));
        }
    }

    /// <summary>An event is raised under the lock of its object, and the one who hears it has a lock of its own that leads back. Both are workers.</summary>
    [Load("lock-callback")]
    sealed class Portfolio
    {
        event Action? Changed;

        readonly List<string> names = new();

        public static void Start()
        {
            Portfolio model = new();
            Screen screen = new(model);
            model.Changed += screen.Redraw;
            var change = new Timer(_ => model.Add("SAP"), null, 500, Timeout.Infinite);
            var draw = new Timer(_ => screen.Click(), null, 500, Timeout.Infinite);
            Service.Every("keep", 1000, () => { GC.KeepAlive(change); GC.KeepAlive(draw); });
        }

        void Add(string name)
        {
            lock (names)
            {
                names.Add(name);
                Thread.Sleep(100);
                Changed?.Invoke();
            }
        }

        int Count()
        {
            lock (names)
                return names.Count;
        }

        sealed class Screen(Portfolio portfolio)
        {
            readonly object sync = new();

            public void Redraw()
            {
                lock (sync)
                    Console.Error.Write("");
            }

            public void Click()
            {
                lock (sync)
                {
                    Thread.Sleep(100);
                    GC.KeepAlive(portfolio.Count());
                }
            }
        }
    }

    /// <summary>Five machines stand in a circle, each takes its own arm and then its neighbour's; others wait behind them.</summary>
    [Load("lock-circle")]
    static class AssemblyCircle
    {
        sealed class Arm
        {
        }

        static readonly Arm[] Arms = Enumerable.Range(0, 5).Select(_ => new Arm()).ToArray();
        static readonly Barrier Together = new(5);

        public static void Start()
        {
            for (int i = 0; i < 5; i++)
            {
                int machine = i;
                Service.Thread("machine-" + i, () => Assemble(machine));
            }
            for (int i = 0; i < 2; i++)
                Service.Thread("inspector-" + i, () => { Thread.Sleep(500); lock (Arms[2]) Console.Error.Write(""); });
        }

        static void Assemble(int machine)
        {
            Monitor.Enter(Arms[machine]);
            Together.SignalAndWait();
            Monitor.Enter(Arms[(machine + 1) % 5]);
        }
    }

    /// <summary>Who holds the lock waits for a task, and the task's work needs the lock; others come and wait, too.</summary>
    [Load("lock-and-task")]
    static class Settlement
    {
        static readonly object Books = new();

        public static void Start()
        {
            Service.Thread("settle", Settle);
            Thread.Sleep(200);
            for (int i = 0; i < 4; i++)
                Service.Thread("clerk-" + i, () => Post());
        }

        static void Settle()
        {
            lock (Books)
                Task.Run(Post).Wait();
        }

        static int Post()
        {
            lock (Books)
                return 1;
        }
    }

    /// <summary>Two tables, each with a lock for readers and writers, written in opposite order.</summary>
    [Load("lock-writers")]
    static class Catalogues
    {
        static readonly ReaderWriterLockSlim Goods = new(), Suppliers = new();

        public static void Start()
        {
            Service.Thread("import", () => Both(Goods, Suppliers));
            Service.Thread("export", () => Both(Suppliers, Goods));
        }

        static void Both(ReaderWriterLockSlim first, ReaderWriterLockSlim second)
        {
            first.EnterWriteLock();
            Thread.Sleep(300);
            second.EnterWriteLock();
        }
    }

    /// <summary>System.Threading.Lock where there is one, held in opposite order by a thread and a worker.</summary>
    [Load("lock-new")]
    static class SeatMap
    {
#if NET9_0_OR_GREATER
        static readonly Lock Rows = new(), Seats = new();
#else
        static readonly object Rows = new(), Seats = new();
#endif

        public static void Start()
        {
            Service.Thread("reserve", Reserve);
            _ = Task.Run(Release);
        }

        static void Reserve()
        {
            lock (Rows)
            {
                Thread.Sleep(200);
                lock (Seats)
                    Console.Error.Write("");
            }
        }

        static void Release()
        {
            lock (Seats)
            {
                Thread.Sleep(200);
                lock (Rows)
                    Console.Error.Write("");
            }
        }
    }

    /// <summary>The holder reads from a server that does not answer; eight wait for it.</summary>
    [Load("lock-silent-server")]
    static class RateSource
    {
        static readonly object Session = new();
        static readonly HttpClient Http = new() { Timeout = Timeout.InfiniteTimeSpan };
        static int port;

        public static void Start()
        {
            port = Elsewhere.Start();
            for (int i = 0; i < 9; i++)
                Service.Thread("rates-" + i, () => Fetch());
        }

        static string Fetch()
        {
            lock (Session)
            {
                using var answer = Http.Send(new HttpRequestMessage(HttpMethod.Get, $"http://127.0.0.1:{port}/never"));
                return answer.ToString();
            }
        }
    }

    /// <summary>Recursive locks, inflated by a hash code, in a circle of three.</summary>
    [Load("lock-recursive")]
    sealed class Ledger
    {
        static readonly Ledger[] Ledgers = [new(), new(), new()];

        public static void Start()
        {
            for (int i = 0; i < 3; i++)
            {
                int own = i;
                GC.KeepAlive(Ledgers[i].GetHashCode());
                new Thread(() => Ledgers[own].CloseInto(Ledgers[(own + 1) % 3])) { IsBackground = true }.Start();
            }
        }

        void CloseInto(Ledger next)
        {
            lock (this)
            lock (this)
            {
                Sum();
                Thread.Sleep(300);
                next.Sum();
            }
        }

        int Sum()
        {
            lock (this)
                return 1;
        }
    }
}
