namespace Shop.Orders
{
    using System.Threading.Channels;
    using Shop.Hosting;

    /// <summary>Each order goes through a queue and waits for its number. The one that reads the queue died of a bad order, and orders come on.</summary>
    [Load("lost-consumer")]
    static class OrderNumbers
    {
        sealed record Asked(int Items, TaskCompletionSource<int> Number);

        static readonly Channel<Asked> Queue = Channel.CreateUnbounded<Asked>();
        static int last;

        public static void Start()
        {
            _ = Consume();
            for (int i = 0; i < 20; i++)
                _ = PlaceAsync(1);
            _ = PlaceAsync(0);
            Service.Requests(20, _ => PlaceAsync(2));
        }

        static async Task Consume()
        {
            await foreach (var asked in Queue.Reader.ReadAllAsync())
                asked.Number.SetResult(last += 100 / asked.Items);
        }

        static async Task<string> PlaceAsync(int items)
        {
            var number = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
            await Queue.Writer.WriteAsync(new Asked(items, number));
            return "order " + await number.Task;
        }
    }

    /// <summary>A lock for asynchronous code, as libraries have it. An exception came between Enter and Exit, and nobody gets in any more.</summary>
    [Load("lost-lock")]
    sealed class AsyncLock
    {
        readonly Queue<TaskCompletionSource> waiting = new();
        bool taken;

        public Task EnterAsync()
        {
            lock (waiting)
            {
                if (!taken)
                {
                    taken = true;
                    return Task.CompletedTask;
                }
                var turn = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                waiting.Enqueue(turn);
                return turn.Task;
            }
        }

        public void Exit()
        {
            lock (waiting)
            {
                if (waiting.TryDequeue(out var next))
                    next.SetResult();
                else
                    taken = false;
            }
        }

        public static Task Start() => Warehouse.Start();
    }

    static class Warehouse
    {
        static readonly AsyncLock Shelf = new();
        static int stock = 30;

        public static Task Start() => Web.Serve(app => app.MapGet("/reserve", () => ReserveAsync()), "/reserve", 24);

        static async Task<int> ReserveAsync()
        {
            await Shelf.EnterAsync();
            await Task.Delay(2);
            int left = Take();
            Shelf.Exit();
            return left;
        }

        static int Take() => stock > 0 ? --stock : throw new InvalidOperationException("sold out");
    }

    /// <summary>Answers are found by a number of the order. Of orders that are asked twice at a time the second question takes the first one's place, which
    /// is never answered; all others are answered soon.</summary>
    [Load("lost-key")]
    sealed class PaymentLink
    {
        readonly Dictionary<int, TaskCompletionSource<bool>> asked = new();
        readonly List<Task<string>> open = new();

        public static void Start()
        {
            var link = new PaymentLink();
            Service.Every("bank", 15, link.Answer);
            Service.Requests(50, number =>
            {
                var payments = Enumerable.Range(0, number % 5 == 0 ? 2 : 1).Select(_ => link.PayAsync(number)).ToList();
                lock (link.open)
                    link.open.AddRange(payments);
                return Task.WhenAll(payments);
            });
        }

        void Answer()
        {
            List<TaskCompletionSource<bool>> all;
            lock (asked)
            {
                all = asked.Values.ToList();
                asked.Clear();
            }
            all.ForEach(one => one.SetResult(true));
        }

        async Task<string> PayAsync(int order)
        {
            var answer = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
            lock (asked)
                asked[order] = answer;
            return await answer.Task ? "paid" : "refused";
        }
    }

    /// <summary>A service that hangs is asked without a time limit, by each request anew.</summary>
    [Load("lost-answer")]
    static class Recommendations
    {
        static readonly HttpClient Http = new() { Timeout = Timeout.InfiniteTimeSpan };
        static int port;

        public static void Start()
        {
            port = Elsewhere.Start();
            Service.Requests(8, _ => PageAsync());
        }

        static async Task<int> PageAsync()
        {
            string text = await SimilarAsync();
            return text.Length;
        }

        static async Task<string> SimilarAsync() => await Http.GetStringAsync($"http://127.0.0.1:{port}/never");
    }

    /// <summary>A semaphore for each customer; who finds nothing to do returns without giving it back. Each has few that wait, and there are many.</summary>
    [Load("lost-return")]
    static class LoyaltyPoints
    {
        static readonly System.Collections.Concurrent.ConcurrentDictionary<int, SemaphoreSlim> Locks = new();

        public static void Start() => Service.Requests(25, number => AddAsync(number % 60, number));

        static async Task AddAsync(int customer, int points)
        {
            var one = Locks.GetOrAdd(customer, _ => new SemaphoreSlim(1, 1));
            await one.WaitAsync();
            await Task.Delay(3);
            if (customer % 3 == 0)
                return;
            GC.KeepAlive(points);
            one.Release();
        }
    }

    /// <summary>Two warehouses are asked and the quicker one is taken. The other one has lost the question: its side never ends, for each order.</summary>
    [Load("lost-loser")]
    static class QuickestWarehouse
    {
        static readonly List<TaskCompletionSource<int>> Questions = new();

        public static void Start() => Service.Requests(30, async _ => GC.KeepAlive(await await Task.WhenAny(NearAsync(), FarAsync())));

        static async Task<int> NearAsync()
        {
            await Task.Delay(10);
            return 1;
        }

        static async Task<int> FarAsync()
        {
            var answer = new TaskCompletionSource<int>();
            lock (Questions)
                Questions.Add(answer);
            return await answer.Task;
        }
    }
}

namespace Shop.Workers
{
    using System.Net.Sockets;
    using System.Runtime.CompilerServices;
    using Shop.Hosting;

    /// <summary>A finalizer closes its file in the asynchronous way and waits for that, which never ends.</summary>
    [Load("zombie-finalizer")]
    sealed class JournalFile
    {
        static readonly TaskCompletionSource Flushed = new();

        ~JournalFile() => CloseAsync().AsTask().GetAwaiter().GetResult();

        static async ValueTask CloseAsync() => await Flushed.Task;

        public static void Start() => Service.Every("journal", 400, () =>
        {
            Drop();
            GC.Collect();
        });

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Drop() => GC.KeepAlive(new JournalFile());
    }

    /// <summary>A thread for each session of a user, which looks each second whether the user is still there, and never ends.</summary>
    [Load("zombie-sessions")]
    static class Presence
    {
        public static Task Start() => Web.Serve(app => app.MapGet("/login", () =>
        {
            var thread = new Thread(Watch) { IsBackground = true };
            thread.Start();
            return "welcome";
        }), "/login", 1, 300);

        static void Watch()
        {
            while (true)
                Thread.Sleep(1000);
        }
    }

    /// <summary>A timer's work hangs with a lock held, in a read from a server; each next tick takes one more worker, which waits for the lock.</summary>
    [Load("zombie-timer")]
    static class ExchangeRates
    {
        static readonly object Table = new();
        static Timer? timer;
        static int port;

        public static void Start()
        {
            port = Elsewhere.Start();
            timer = new Timer(_ => Refresh(), null, 100, 400);
        }

        static void Refresh()
        {
            lock (Table)
            {
                using var client = new TcpClient("127.0.0.1", port);
                client.Client.Send("rates\n"u8);
                client.GetStream().ReadByte();
            }
        }
    }

    /// <summary>Each import waits until all of its parts have counted down, and a part that failed did not. Fourteen imports hang, the last one for some
    /// time.</summary>
    [Load("zombie-countdown")]
    static class PartImport
    {
        public static void Start() => Service.Thread("imports", () =>
        {
            for (int i = 0; i < 14; i++, Thread.Sleep(900))
                Service.Thread("import-" + i, Import);
        });

        static void Import()
        {
            var parts = new CountdownEvent(3);
            for (int part = 0; part < 3; part++)
            {
                bool bad = part == 1;
                _ = Task.Run(() =>
                {
                    if (!bad)
                        parts.Signal();
                });
            }
            parts.Wait();
        }
    }

    /// <summary>Reports are drawn under a mutex of the whole machine, and the one that has it sleeps until it is morning.</summary>
    [Load("zombie-mutex")]
    static class ReportPrinter
    {
        static readonly Mutex Printer = new();

        public static void Start() => Service.Thread("night", () =>
        {
            Service.Thread("nightly", () => { Printer.WaitOne(); Thread.Sleep(Timeout.Infinite); });
            for (int i = 0; i < 16; i++)
            {
                Thread.Sleep(700);
                new Thread(Print) { IsBackground = true }.Start();
            }
        });

        static void Print()
        {
            Printer.WaitOne();
            try
            {
                Console.Error.Write("");
            }
            finally
            {
                Printer.ReleaseMutex();
            }
        }
    }
}
