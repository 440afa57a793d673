namespace Shop.Sockets
{
    using System.Runtime.InteropServices;
    using Shop.Hosting;

    /// <summary>Receive buffers pinned one by one among short-lived objects that then go: the heap is full of holes.</summary>
    [Load("pinned-receive")]
    public sealed class Receiver
    {
        static readonly List<GCHandle> Pinned = [];

        public static void Start()
        {
            var garbage = new List<byte[]>();
            for (int i = 0; i < 3_000; i++)
            {
                for (int n = 0; n < 4; n++)
                    garbage.Add(new byte[8_000]);
                Pinned.Add(GCHandle.Alloc(new byte[512], GCHandleType.Pinned));
            }
            GC.Collect(); // the garbage gets old with them
            GC.Collect();
            garbage.Clear();
            garbage = null;
            GC.Collect();
            Service.Every("receiver", 5, () => Deliver(new byte[2_000]));
        }

        static void Deliver(byte[] message) => ((byte[])Pinned[message.Length % Pinned.Count].Target!)[0] = message[0];
    }

    public sealed class Upload(int number)
    {
        public readonly int Number = number;
        public readonly byte[] Chunk = new byte[20_000];
    }

    /// <summary>GCHandles of uploads that are never freed: nothing managed holds them.</summary>
    [Load("handle-uploads")]
    public sealed class NativeUploader
    {
        static readonly List<nint> Tickets = [];

        public static void Start()
        {
            for (int i = 0; i < 2_500; i++)
                Tickets.Add(GCHandle.ToIntPtr(GCHandle.Alloc(new Upload(i))));
            Service.Every("uploader", 100, () => GC.KeepAlive(GCHandle.FromIntPtr(Tickets[Random.Shared.Next(Tickets.Count)]).Target));
        }
    }
}

namespace Shop.Orders
{
    using Shop.Hosting;

    public sealed class OrderLine(int product)
    {
        public readonly int Product = product;
        public readonly byte[] Document = new byte[300];
    }

    public sealed class OrderBook
    {
        public readonly Dictionary<int, List<OrderLine>> ByCustomer = [];

        public void Add(int customer, OrderLine line)
        {
            if (!ByCustomer.TryGetValue(customer, out var lines))
                ByCustomer[customer] = lines = [];
            lines.Add(line);
        }
    }

    /// <summary>All orders of the year are held by one object of the background service, of which a field of its thread's closure knows.</summary>
    [Load("held-orders")]
    public sealed class OrderProjection
    {
        static readonly OrderProjection Current = new();
        readonly OrderBook book = new();

        public static void Start()
        {
            for (int i = 0; i < 150_000; i++)
                Current.book.Add(i % 4_000, new OrderLine(i));
            Service.Every("order-projection", 50, () => Current.book.Add(7, new OrderLine(1)));
        }
    }

    public sealed class PriceBoard
    {
        public event Action<int>? Changed;

        public void Publish(int price) => Changed?.Invoke(price);
    }

    public sealed class Watch(string customer)
    {
        readonly byte[] history = new byte[5_000];

        public void OnChanged(int price) => history[price % history.Length] = (byte)customer.Length;
    }

    /// <summary>Watches of customers that went long ago, held by the event of the one price board.</summary>
    [Load("held-watches")]
    static class WatchService
    {
        static readonly PriceBoard Board = new();

        public static void Start()
        {
            for (int i = 0; i < 10_000; i++)
                Board.Changed += new Watch("customer-" + i).OnChanged;
            Service.Every("price-board", 500, () => Board.Publish(Random.Shared.Next(100)));
        }
    }
}

namespace Shop.Customers
{
    using System.Text.Json;
    using Shop.Hosting;

    public sealed record Address(int Id, string Street, string City, string Country);

    public sealed record Customer(int Id, string Name, string Currency, string Segment, Address Address);

    /// <summary>Customers read from JSON: a country, currency and segment of their own each.</summary>
    [Load("dup-customers")]
    static class CustomerDirectory
    {
        static readonly List<Customer> Customers = [];

        public static void Start()
        {
            for (int i = 0; i < 60_000; i++)
                Customers.Add(JsonSerializer.Deserialize<Customer>($$"""
                    {"Id":{{i}},"Name":"Customer {{i}}","Currency":"EUR","Segment":"business customers, small",
                     "Address":{"Id":{{i}},"Street":"Street {{i}}","City":"Frankfurt am Main","Country":"Federal Republic of Germany"} }
                    """)!);
            GC.Collect(); // read long ago
            GC.Collect();
            Service.Every("directory-sync", 100, () => GC.KeepAlive(Customers[Random.Shared.Next(Customers.Count)].Name));
        }
    }

    /// <summary>A cache of translations by key, in which each language has all texts of its own though most are the fallback's.</summary>
    [Load("dup-texts")]
    static class TextCache
    {
        static readonly Dictionary<string, string> Texts = [];

        public static void Start()
        {
            for (int i = 0; i < 40_000; i++)
                Texts[$"{i % 400}/text-{i}"] = string.Concat("This text is not translated yet, ", "please contact the editors of the shop");
            GC.Collect(); // read long ago
            GC.Collect();
            Service.Every("text-sync", 100, () => GC.KeepAlive(Texts.Count));
        }
    }

    /// <summary>Rows as dictionaries: each has the names of its columns again.</summary>
    [Load("dup-columns")]
    static class ReportTable
    {
        static readonly List<Dictionary<string, string>> Rows = [];

        public static void Start()
        {
            for (int i = 0; i < 15_000; i++)
            {
                var row = new Dictionary<string, string>();
                foreach (string column in "customer_number;customer_name;shipping_country;payment_method".Split(';'))
                    row[column] = $"{column[0]}{i}";
                Rows.Add(row);
            }
            Service.Every("report-table", 100, () => GC.KeepAlive(Rows[Random.Shared.Next(Rows.Count)]));
        }
    }

    /// <summary>Tags of products, split from text and kept as arrays.</summary>
    [Load("dup-tags")]
    static class TagIndex
    {
        static readonly string[][] Tags = Enumerable.Range(0, 30_000).Select(i => $"winter collection,on sale this week,season {i % 5}".Split(',')).ToArray();

        public static void Start() => Service.Every("tag-index", 100, () => GC.KeepAlive(Tags[Random.Shared.Next(Tags.Length)]));
    }
}
