namespace Shop.Audit
{
    using Shop.Hosting;

    public sealed record AuditEntry(DateTime At, string User, string Action, byte[] Payload);

    /// <summary>All that ever happened stays in a static list.</summary>
    [Load("static-audit")]
    public static class AuditLog
    {
        static readonly List<AuditEntry> Entries = [];

        public static void Start() => Service.Requests(200, n => Task.Run(() => Record("user-" + n % 50, "viewed")));

        static void Record(string user, string action)
        {
            lock (Entries)
                Entries.Add(new AuditEntry(DateTime.UtcNow, user, action, new byte[4_000]));
        }
    }
}

namespace Shop.Web
{
    using System.Collections.Concurrent;
    using Shop.Hosting;

    public sealed class Session(string id)
    {
        public string Id { get; } = id;
        public Dictionary<string, string> Values { get; } = new() { ["cart"] = new string('c', 1000), ["theme"] = "dark" };
    }

    /// <summary>Each visitor without a cookie gets a session that nobody ever removes.</summary>
    [Load("static-sessions")]
    public static class SessionStore
    {
        static readonly ConcurrentDictionary<string, Session> Sessions = new();

        public static Task Start() => Web.Serve(app => app.MapGet("/", Visit), "/", clients: 2, restMs: 1);

        static string Visit()
        {
            string id = Guid.NewGuid().ToString("N");
            return Sessions.GetOrAdd(id, key => new Session(key)).Id;
        }
    }
}

namespace Shop.Pricing
{
    using Shop.Hosting;

    public sealed class PriceFeed
    {
        public event EventHandler<decimal>? Changed;

        public void Publish(decimal price) => Changed?.Invoke(this, price);
    }

    public sealed class PriceBox
    {
        readonly byte[] rendered = new byte[6_000];
        decimal price;

        public PriceBox(PriceFeed feed) => feed.Changed += OnChanged;

        void OnChanged(object? sender, decimal now)
        {
            price = now;
            rendered[0] = (byte)price;
        }
    }

    /// <summary>The box of each page subscribes to a feed that lives for ever, and never unsubscribes.</summary>
    [Load("event-prices")]
    static class ProductPage
    {
        static readonly PriceFeed Feed = new();

        public static void Start()
        {
            Service.Requests(100, _ => Task.Run(() => GC.KeepAlive(new PriceBox(Feed))));
            Service.Every("price-feed", 500, () => Feed.Publish(Random.Shared.Next(100)));
        }
    }
}

namespace Shop.Settings
{
    using Shop.Hosting;

    /// <summary>Reloads settings; whoever wants to know adds a lambda.</summary>
    public static class SettingsMonitor
    {
        public static event Action<string>? Reloaded;

        public static void Reload(string name) => Reloaded?.Invoke(name);
    }

    /// <summary>Each request adds a lambda to a static event; it captures the request's buffer.</summary>
    [Load("event-lambda")]
    static class BannerRenderer
    {
        public static void Start()
        {
            Service.Requests(100, n => Task.Run(() => Render("banner-" + n)));
            Service.Every("settings-watch", 1000, () => SettingsMonitor.Reload("theme"));
        }

        static void Render(string name)
        {
            var buffer = new byte[6_000];
            SettingsMonitor.Reloaded += changed => buffer[0] = (byte)(changed == name ? 1 : 0);
        }
    }

    /// <summary>Callbacks to be called "when the settings are there", kept in a list that is never emptied.</summary>
    [Load("closure-callbacks")]
    public sealed class FeatureFlags
    {
        static readonly FeatureFlags Current = new();
        readonly List<Action<bool>> waiting = [];

        public static void Start() => Service.Requests(100, n => Task.Run(() => Current.Ask("flag-" + n % 10)));

        void Ask(string name)
        {
            var page = new byte[6_000];
            lock (waiting)
                waiting.Add(on => page[0] = (byte)(on && name.Length > 0 ? 1 : 0));
        }
    }
}

namespace Shop.Delivery
{
    using Shop.Hosting;

    /// <summary>Polls a parcel's position; never disposed of, so that its timer goes on for ever.</summary>
    public sealed class ParcelTracker
    {
        readonly byte[] map = new byte[8_000];
        readonly Timer timer;

        public ParcelTracker() => timer = new Timer(_ => map[0]++, null, 5_000, 5_000);

        public override string ToString() => timer.ToString() + map.Length;
    }

    [Load("timer-parcels")]
    static class TrackingPage
    {
        public static void Start() => Service.Requests(80, _ => Task.Run(() => GC.KeepAlive(new ParcelTracker())));
    }

    /// <summary>A loop with a PeriodicTimer for each courier that ever logged in; nobody ends it.</summary>
    [Load("timer-couriers")]
    public sealed class CourierPresence
    {
        public static void Start() => Service.Requests(80, n => Task.Run(() => { _ = new CourierPresence().WatchAsync(n); }));

        readonly byte[] positions = new byte[8_000];

        async Task WatchAsync(int courier)
        {
            using var timer = new PeriodicTimer(TimeSpan.FromSeconds(10));
            while (await timer.WaitForNextTickAsync())
                positions[courier % positions.Length]++;
        }
    }
}

namespace Shop.Search
{
    using Shop.Hosting;

    /// <summary>A linked source for each query, linked to the one of the application's life, never disposed of.</summary>
    [Load("cts-linked")]
    static class SuggestEndpoint
    {
        static readonly CancellationTokenSource Stopping = new();

        public static void Start() => Service.Requests(400, n => Task.Run(() => SuggestAsync("q" + n)));

        static async Task<int> SuggestAsync(string query)
        {
            var timeout = CancellationTokenSource.CreateLinkedTokenSource(Stopping.Token);
            var state = new byte[2_000];
            timeout.Token.Register(() => state[0] = (byte)query.Length);
            await Task.Yield();
            return state.Length;
        }
    }

    /// <summary>Registers with the application's token for each index writer and keeps no registration to dispose of.</summary>
    [Load("cts-register")]
    public sealed class IndexWriter
    {
        static readonly CancellationTokenSource Lifetime = new();
        readonly byte[] page = new byte[6_000];

        public static void Start() => Service.Requests(120, _ => Task.Run(() => new IndexWriter().Open(Lifetime.Token)));

        void Open(CancellationToken stopping) => stopping.Register(Flush);

        void Flush() => page[0] = 1;
    }
}

namespace Shop.Mail
{
    using Microsoft.Extensions.DependencyInjection;
    using Shop.Hosting;

    public sealed class SmtpConnection : IDisposable
    {
        readonly byte[] buffer = new byte[6_000];

        public void Send(string to) => buffer[0] = (byte)to.Length;

        public void Dispose() => buffer[0] = 0;
    }

    public sealed class MailTemplate : IDisposable
    {
        readonly char[] text = new char[3_000];

        public void Dispose() => text[0] = '\0';
    }

    /// <summary>A transient disposable, asked of the root provider: the container holds each one until the application ends.</summary>
    [Load("di-transient")]
    static class MailQueue
    {
        static IServiceProvider root = null!;

        public static void Start()
        {
            root = new ServiceCollection().AddTransient<SmtpConnection>().BuildServiceProvider();
            Service.Requests(120, n => Task.Run(() => root.GetRequiredService<SmtpConnection>().Send("customer-" + n)));
        }
    }

    /// <summary>A scope for each mail that is never disposed of; the campaign's list holds them.</summary>
    [Load("di-scopes")]
    static class Campaign
    {
        static readonly List<IServiceScope> Running = [];

        public static void Start()
        {
            var root = new ServiceCollection().AddScoped<MailTemplate>().BuildServiceProvider();
            Service.Every("campaign", 8, () =>
            {
                var scope = root.CreateScope();
                GC.KeepAlive(scope.ServiceProvider.GetRequiredService<MailTemplate>());
                Running.Add(scope);
            });
        }
    }
}

namespace Shop.Data
{
    using Microsoft.EntityFrameworkCore;
    using Shop.Hosting;

    public sealed class Order
    {
        public int Id { get; set; }
        public string Customer { get; set; } = "";
        public byte[] Note { get; set; } = [];
    }

    public sealed class ShopContext : DbContext
    {
        public DbSet<Order> Orders => Set<Order>();

        protected override void OnConfiguring(DbContextOptionsBuilder options) => options.UseInMemoryDatabase("shop");
    }

    /// <summary>One context for the import's whole life: it tracks each order that it attached.</summary>
    [Load("ef-import")]
    public sealed class OrderImport
    {
        readonly ShopContext context = new();
        int next = 1;

        public static void Start()
        {
            var import = new OrderImport();
            Service.Every("order-import", 10, import.ImportOne);
        }

        void ImportOne() => context.Attach(new Order { Id = next++, Customer = "customer-" + next, Note = new byte[8_000] });
    }

    /// <summary>A repository registered as a singleton: what its queries read stays tracked.</summary>
    public sealed class OrderRepository
    {
        readonly ShopContext context = new();

        public int CountOf(IEnumerable<Order> rows)
        {
            lock (context)
            {
                foreach (var row in rows)
                    context.Entry(row).State = EntityState.Unchanged;
                return context.ChangeTracker.Entries().Count();
            }
        }
    }

    [Load("ef-singleton")]
    static class OrdersEndpoint
    {
        static readonly OrderRepository Repository = new();
        static int id;

        public static Task Start() => Web.Serve(app => app.MapGet("/orders", () => Repository.CountOf(Page()).ToString()), "/orders", 1, 60);

        static IEnumerable<Order> Page() =>
            Enumerable.Range(0, 10).Select(_ => new Order { Id = ++id, Customer = "c", Note = new byte[6_000] }).ToList();
    }
}

namespace Shop.Plugins
{
    using System.Reflection;
    using System.Runtime.Loader;
    using Shop.Hosting;

    public sealed class PluginContext(string name) : AssemblyLoadContext(name, isCollectible: true)
    {
        public readonly byte[] Resources = new byte[100_000];

        protected override Assembly? Load(AssemblyName name) => null;

        /// <summary>A plug-in is this assembly once more, in a context of its own.</summary>
        public Type Find(string type) => LoadFromAssemblyPath(typeof(PluginContext).Assembly.Location).GetType(type, throwOnError: true)!;
    }

    /// <summary>What a plug-in brings.</summary>
    public sealed class Coupon
    {
        static readonly byte[] Table = new byte[50_000];

        public int Apply(int amount) => amount - Table[amount % Table.Length] - 1;
    }

    /// <summary>Each reload of the rules is a new load context; the cache of types keeps the old ones.</summary>
    [Load("plugin-cache")]
    static class CouponRules
    {
        static readonly Dictionary<int, Type> Types = [];

        public static void Start() => Service.Every("rules-reload", 100, Reload);

        static void Reload()
        {
            var context = new PluginContext("coupons-" + Types.Count);
            Types[Types.Count] = context.Find(typeof(Coupon).FullName!);
            Activator.CreateInstance(Types[Types.Count - 1]);
            context.Unload();
        }
    }

    /// <summary>A plug-in's object stays subscribed to the host's event: its context cannot be unloaded.</summary>
    [Load("plugin-event")]
    static class PluginHost
    {
        static event Func<int, int>? Pricing;

        static int version;

        public static void Start() => Service.Every("plugin-reload", 100, Reload);

        static void Reload()
        {
            var context = new PluginContext("plugin-" + version++);
            var type = context.Find(typeof(Coupon).FullName!);
            Pricing += type.GetMethod("Apply")!.CreateDelegate<Func<int, int>>(Activator.CreateInstance(type));
            Pricing(version);
            context.Unload();
        }
    }
}

namespace Shop.Checkout
{
    using System.Collections.Concurrent;
    using Shop.Hosting;

    public sealed record Confirmation(int Order, bool Ok);

    /// <summary>Orders wait for a confirmation of which a tenth never comes.</summary>
    [Load("async-waiters")]
    public sealed class ConfirmationBus
    {
        static readonly ConfirmationBus Bus = new();
        readonly ConcurrentDictionary<int, TaskCompletionSource<Confirmation>> pending = new();

        public static void Start() => Service.Requests(400, n =>
        {
            _ = Bus.PlaceAsync(n, new byte[10_000]);
            Bus.Answer(n);
            return Task.CompletedTask;
        });

        async Task<int> PlaceAsync(int order, byte[] document)
        {
            var source = pending.GetOrAdd(order, _ => new TaskCompletionSource<Confirmation>(TaskCreationOptions.RunContinuationsAsynchronously));
            var answer = await source.Task;
            return answer.Ok ? document.Length : 0;
        }

        void Answer(int order)
        {
            if (order % 4 != 0 && pending.TryRemove(order, out var source))
                source.SetResult(new Confirmation(order, true));
        }
    }

    /// <summary>An early return forgets to release: from then on all wait.</summary>
    [Load("async-semaphore")]
    public sealed class CardTerminal
    {
        static readonly CardTerminal Terminal = new();
        readonly SemaphoreSlim free = new(2);

        public static void Start() => Service.Requests(120, n => Terminal.ChargeAsync(n, new byte[8_000]));

        async Task<int> ChargeAsync(int order, byte[] receipt)
        {
            await free.WaitAsync();
            if (order % 7 == 0)
                return -1; // declined
            await Task.Delay(1);
            free.Release();
            return receipt.Length;
        }
    }

    /// <summary>Each cart hangs a continuation on a task of the application's life.</summary>
    [Load("closure-continuations")]
    static class CartWatcher
    {
        static readonly TaskCompletionSource Closing = new();

        public static void Start() => Service.Requests(120, n => Task.Run(() => Open(n)));

        static void Open(int number)
        {
            var cart = new byte[7_000];
            Closing.Task.ContinueWith(_ => cart[0] = (byte)number, TaskScheduler.Default);
        }
    }
}

namespace Shop.Images
{
    using System.Runtime.InteropServices;
    using Shop.Hosting;

    /// <summary>Thumbnails of native memory, of which those of broken pictures are not freed.</summary>
    [Load("native-images")]
    static class Thumbnails
    {
        public static void Start() => Service.Requests(200, n => Task.Run(() => Render(n)));

        static unsafe void Render(int number)
        {
            void* pixels = NativeMemory.AllocZeroed(20_000);
            new Span<byte>(pixels, 20_000).Fill((byte)number);
            if (number % 3 == 0)
                return; // a broken picture
            NativeMemory.Free(pixels);
        }
    }

    /// <summary>A small managed object with a large native one, kept by a registry.</summary>
    public sealed class FontHandle
    {
        readonly nint memory = Marshal.AllocHGlobal(40_000);

        public unsafe FontHandle() => new Span<byte>((void*)memory, 40_000).Fill(1);
    }

    [Load("native-fonts")]
    static class FontRegistry
    {
        static readonly Dictionary<string, FontHandle> Fonts = [];

        public static void Start() => Service.Every("font-loader", 8, () => Fonts.Add($"font-{Fonts.Count}", new FontHandle()));
    }
}
