namespace Shop.Catalog
{
    using System.Collections.Concurrent;
    using Shop.Hosting;

    public sealed class ProductCard(int id)
    {
        public readonly int Id = id;
        public readonly byte[] Html = new byte[3_000];
    }

    /// <summary>A cache of a catalog with 6,000 products fills as they are asked for: ever slower, and never beyond that.</summary>
    [Load("cache-warming")]
    static class CardCache
    {
        static readonly ConcurrentDictionary<int, ProductCard> Cards = new();

        public static void Start() => Service.Requests(1_500, _ =>
        {
            Cards.GetOrAdd(Random.Shared.Next(6_000), id => new ProductCard(id));
            return Task.CompletedTask;
        });
    }

    /// <summary>The same with popular products: new ones come at a rate that decays, for minutes.</summary>
    [Load("cache-popular")]
    static class PopularCache
    {
        static readonly ConcurrentDictionary<int, ProductCard> Cards = new();

        public static void Start() => Service.Requests(1_000, _ =>
        {
            int id = (int)(-Math.Log(1 - Random.Shared.NextDouble()) * 1_500); // exponentially fewer ask for the later ones
            Cards.GetOrAdd(id, key => new ProductCard(key));
            return Task.CompletedTask;
        });
    }

    /// <summary>A full cache: for each product that comes one goes.</summary>
    [Load("cache-full")]
    static class RecentCache
    {
        const int Most = 8_000;
        static readonly Dictionary<int, ProductCard> Cards = [];
        static readonly Queue<int> Order = new();
        static int next;

        public static void Start()
        {
            while (Cards.Count < Most)
                Add();
            Service.Every("catalog-reader", 5, () =>
            {
                for (int i = 0; i < 10; i++)
                    Add();
            });
        }

        static void Add()
        {
            if (Cards.Count >= Most)
                Cards.Remove(Order.Dequeue());
            Cards[next] = new ProductCard(next);
            Order.Enqueue(next++);
        }
    }

    /// <summary>A cache that holds its entries weakly: the collector empties it.</summary>
    [Load("cache-weak")]
    static class WeakCache
    {
        static readonly ConcurrentDictionary<int, WeakReference<ProductCard>> Cards = new();

        public static void Start() => Service.Requests(1_500, n =>
        {
            Cards[n % 3_000] = new WeakReference<ProductCard>(new ProductCard(n));
            return Task.CompletedTask;
        });
    }

    /// <summary>All is loaded at the start and stays: 150 MB that are meant to be there.</summary>
    [Load("heap-high")]
    static class WholeCatalog
    {
        static readonly ProductCard[] Cards = Enumerable.Range(0, 50_000).Select(i => new ProductCard(i)).ToArray();

        public static void Start() => Service.Requests(200, n => Task.FromResult(Cards[n % Cards.Length].Html[0]));
    }

    /// <summary>The index is built in much memory at the start, of which nothing stays.</summary>
    [Load("startup-spike")]
    static class IndexBuilder
    {
        static int[] ranks = [];

        public static void Start()
        {
            var work = Enumerable.Range(0, 40_000).Select(i => new ProductCard(i)).ToList();
            ranks = work.Select(c => c.Id * 31 % 977).ToArray();
            work.Clear();
            Service.Requests(300, n => Task.FromResult(new byte[ranks[n % ranks.Length] + 100]));
        }
    }
}

namespace Shop.Batches
{
    using Shop.Hosting;

    public sealed record Invoice(int Number, byte[] Pdf);

    /// <summary>Invoices are gathered for two seconds and then sent: up and down.</summary>
    [Load("batch-invoices")]
    public sealed class InvoiceBatch
    {
        readonly List<Invoice> batch = [];
        int number;

        public static void Start()
        {
            var invoices = new InvoiceBatch();
            Service.Every("invoice-batch", 10, invoices.Gather);
        }

        void Gather()
        {
            batch.Add(new Invoice(number++, new byte[20_000]));
            if (batch.Count >= 150)
                batch.Clear();
        }
    }

    /// <summary>A slow sawtooth: the journal is written every seven seconds.</summary>
    [Load("sawtooth-journal")]
    public sealed class Journal
    {
        readonly List<byte[]> lines = [];
        readonly System.Diagnostics.Stopwatch since = System.Diagnostics.Stopwatch.StartNew();

        public static void Start()
        {
            var journal = new Journal();
            Service.Every("journal", 10, journal.Write);
        }

        void Write()
        {
            lines.Add(new byte[20_000]);
            if (since.Elapsed.TotalSeconds > 7)
            {
                lines.Clear();
                since.Restart();
            }
        }
    }

    /// <summary>A queue with a bound, always nearly full.</summary>
    [Load("queue-bounded")]
    static class LabelQueue
    {
        static readonly System.Threading.Channels.Channel<Invoice> Labels = System.Threading.Channels.Channel.CreateBounded<Invoice>(2_000);

        public static void Start()
        {
            _ = Task.Run(async () =>
            {
                for (int i = 0; ; i++)
                    await Labels.Writer.WriteAsync(new Invoice(i, new byte[4_000]));
            });
            _ = Task.Run(async () =>
            {
                await foreach (var label in Labels.Reader.ReadAllAsync())
                    if (label.Number % 5 == 0)
                        await Task.Delay(1);
            });
        }
    }

    /// <summary>Buffers are rented from a pool and given back.</summary>
    [Load("pool-buffers")]
    static class ReceiptPrinter
    {
        public static void Start() => Service.Requests(500, async n =>
        {
            byte[] buffer = System.Buffers.ArrayPool<byte>.Shared.Rent(64_000);
            buffer[n % buffer.Length] = 1;
            await Task.Delay(5);
            System.Buffers.ArrayPool<byte>.Shared.Return(buffer);
        });
    }
}

namespace Shop.Plugins
{
    using System.Linq.Expressions;
    using System.Reflection;
    using System.Reflection.Emit;
    using System.Runtime.Loader;
    using Shop.Hosting;

    public sealed class ReportContext(string name) : AssemblyLoadContext(name, isCollectible: true)
    {
        protected override Assembly? Load(AssemblyName name) => null;
    }

    public sealed class ReportPlugin
    {
        readonly byte[] page = new byte[60_000];

        public int Run(int size) => page.Length + size;
    }

    /// <summary>Each report is a plug-in that is loaded, run and unloaded; nothing keeps it.</summary>
    [Load("plugins-unload")]
    static class ReportHost
    {
        static int number;

        public static void Start() => Service.Every("report-host", 200, Run);

        static void Run()
        {
            var context = new ReportContext("report-" + number++);
            var type = context.LoadFromAssemblyPath(typeof(ReportPlugin).Assembly.Location).GetType(typeof(ReportPlugin).FullName!)!;
            type.GetMethod("Run")!.Invoke(Activator.CreateInstance(type), [number]);
            context.Unload();
            if (number % 10 == 0)
                GC.Collect(2, GCCollectionMode.Optimized, blocking: false);
        }
    }

    /// <summary>A rule is compiled for a request now and then, and let go with it: collectible dynamic code.</summary>
    [Load("compile-per-request")]
    static class RuleCompiler
    {
        static double sum;

        public static void Start() => Service.Requests(10, n => Task.Run(() => Evaluate(n)));

        static void Evaluate(int number)
        {
            var x = Expression.Parameter(typeof(double));
            sum += Expression.Lambda<Func<double, double>>(Expression.Add(x, Expression.Constant((double)number)), x).Compile()(1);
        }
    }

    /// <summary>Templates become assemblies that can be collected; the last ten are kept.</summary>
    [Load("compile-templates")]
    static class TemplateEngine
    {
        static readonly Queue<Type> Recent = new();
        static int number;

        public static void Start() => Service.Every("template-engine", 100, () =>
        {
            var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("template" + number++), AssemblyBuilderAccess.RunAndCollect);
            var type = assembly.DefineDynamicModule("m").DefineType("Template", TypeAttributes.Public);
            type.DefineField("Text", typeof(string), FieldAttributes.Public);
            Recent.Enqueue(type.CreateType());
            if (Recent.Count > 10)
                Recent.Dequeue();
        });
    }
}

namespace Shop.Well
{
    using Microsoft.EntityFrameworkCore;
    using Shop.Data;
    using Shop.Hosting;
    using Shop.Mail;
    using Shop.Pricing;

    public sealed class Subscriber : IDisposable
    {
        readonly PriceFeed feed;
        readonly byte[] view = new byte[6_000];

        public Subscriber(PriceFeed feed)
        {
            this.feed = feed;
            feed.Changed += OnChanged;
        }

        void OnChanged(object? sender, decimal price) => view[0] = (byte)price;

        public void Dispose() => feed.Changed -= OnChanged;
    }

    /// <summary>Subscribes and unsubscribes with each request.</summary>
    [Load("events-unsubscribed")]
    static class LivePrices
    {
        static readonly PriceFeed Feed = new();

        public static void Start() => Service.Requests(100, async _ =>
        {
            using var subscriber = new Subscriber(Feed);
            await Task.Delay(200);
        });
    }

    /// <summary>Timers and linked sources that are disposed of when their request ends.</summary>
    [Load("timers-disposed")]
    static class Deadlines
    {
        static readonly CancellationTokenSource Stopping = new();

        public static void Start() => Service.Requests(150, async n =>
        {
            byte[] body = new byte[4_000];
            using var linked = CancellationTokenSource.CreateLinkedTokenSource(Stopping.Token);
            linked.CancelAfter(30_000);
            using var timer = new Timer(_ => body[0]++, null, 60_000, 60_000);
            await using var registration = linked.Token.Register(() => body[1]++);
            await Task.Delay(100, linked.Token);
        });
    }

    /// <summary>A scope for each mail, disposed of.</summary>
    [Load("scopes-disposed")]
    static class Newsletter
    {
        public static void Start()
        {
            var root = new ServiceCollection().AddScoped<MailTemplate>().AddTransient<SmtpConnection>().BuildServiceProvider();
            Service.Requests(150, async n =>
            {
                await using var scope = root.CreateAsyncScope();
                scope.ServiceProvider.GetRequiredService<SmtpConnection>().Send("customer-" + n);
                GC.KeepAlive(scope.ServiceProvider.GetRequiredService<MailTemplate>());
                await Task.Delay(20);
            });
        }
    }

    /// <summary>A context for each unit of work.</summary>
    [Load("ef-contexts")]
    static class OrderPages
    {
        public static void Start() => Service.Requests(30, n => Task.Run(() =>
        {
            using var context = new ShopContext();
            for (int i = 1; i <= 20; i++)
                context.Attach(new Order { Id = i, Customer = "c", Note = new byte[3_000] });
            return context.ChangeTracker.Entries().Count();
        }));
    }

    /// <summary>Five hundred workers that wait for work that seldom comes.</summary>
    [Load("workers-idle")]
    static class Workers
    {
        static readonly SemaphoreSlim Work = new(0);

        public static void Start()
        {
            for (int i = 0; i < 500; i++)
                Service.Every("worker-" + i, 0, () => Work.Wait());
            Service.Every("dispatcher", 20, () => Work.Release());
        }
    }

    /// <summary>A thousand clients wait for news; each waits half a minute at most.</summary>
    [Load("long-polls")]
    static class News
    {
        public static void Start()
        {
            for (int i = 0; i < 1_000; i++)
                _ = PollAsync(i);
        }

        static async Task PollAsync(int client)
        {
            await Task.Delay(client * 29 % 10_000);
            while (true)
            {
                byte[] request = new byte[4_000];
                using var timeout = new CancellationTokenSource(TimeSpan.FromSeconds(30));
                await Task.Delay(10_000, timeout.Token);
                request[0] = (byte)client;
            }
        }
    }
}
