namespace Shop.Metrics
{
    using Shop.Hosting;

    /// <summary>Counters as objects: each increment makes a new box.</summary>
    [Load("box-metrics")]
    public sealed class Counters
    {
        readonly Dictionary<string, object> values = new() { ["orders"] = 0L, ["carts"] = 0L, ["errors"] = 0L };

        public static void Start()
        {
            var counters = new Counters();
            Service.Every("request-mill", 1, () =>
            {
                for (int i = 0; i < 20_000; i++)
                    counters.Increment(i % 3 == 0 ? "carts" : "orders");
            });
        }

        public void Increment(string name) => values[name] = (long)values[name] + 1;
    }
}

namespace Shop.Stock
{
    using Shop.Hosting;

#pragma warning disable CA1815 // that is the point: compared by ValueType.Equals, which boxes
    public readonly struct ShelfKey(int aisle, int shelf)
    {
        public readonly int Aisle = aisle;
        public readonly int Shelf = shelf;
    }
#pragma warning restore CA1815

    /// <summary>A key without Equals of its own is boxed twice for each look-up.</summary>
    [Load("box-keys")]
    public sealed class Shelves
    {
        readonly Dictionary<ShelfKey, int> counts = [];

        public static void Start()
        {
            var shelves = new Shelves();
            for (int i = 0; i < 200; i++)
                shelves.counts[new ShelfKey(i % 20, i / 20)] = i;
            Service.Every("stock-query", 1, () =>
            {
                for (int i = 0; i < 3_000; i++)
                    shelves.CountOn(i % 20, i % 10);
            });
        }

        public int CountOn(int aisle, int shelf) => counts.GetValueOrDefault(new ShelfKey(aisle, shelf));
    }
}

namespace Shop.Reports
{
    using Shop.Hosting;

    public sealed record Sale(int Product, string Country, decimal Amount);

    /// <summary>A table put together by +=.</summary>
    [Load("text-concat")]
    public sealed class CsvReport
    {
        readonly Sale[] sales = Enumerable.Range(0, 300).Select(i => new Sale(i, i % 3 == 0 ? "DE" : "FR", i * 1.5m)).ToArray();

        public static void Start()
        {
            var report = new CsvReport();
            Service.Requests(100, _ => Task.Run(report.Render));
        }

        public string Render()
        {
            string text = "product;country;amount\n";
            foreach (var sale in sales)
                text += sale.Product + ";" + sale.Country + "\n";
            return text;
        }
    }

    /// <summary>A chain of LINQ with lists in between for each request.</summary>
    [Load("linq-reports")]
    public sealed class SalesReport
    {
        readonly List<Sale> sales = Enumerable.Range(0, 5_000).Select(i => new Sale(i % 500, i % 3 == 0 ? "DE" : "FR", i)).ToList();

        public static void Start()
        {
            var report = new SalesReport();
            Service.Requests(200, _ => Task.Run(report.TopSellers));
        }

        public List<int> TopSellers() =>
            sales.Where(s => s.Country == "DE").ToList().GroupBy(s => s.Product).ToList()
                .Select(g => new { g.Key, Sum = g.Sum(s => s.Amount) }).ToList().OrderByDescending(x => x.Sum).Select(x => x.Key).Take(10).ToList();
    }
}

namespace Shop.Import
{
    using Shop.Hosting;

    /// <summary>Each line of a file becomes an array of strings, of which two are used.</summary>
    [Load("text-split")]
    public sealed class OrderFile
    {
        static readonly string Line = string.Join(',', Enumerable.Range(0, 24).Select(i => "field-" + i));

        public static void Start()
        {
            var file = new OrderFile();
            Service.Every("order-import", 1, () =>
            {
                for (int i = 0; i < 800; i++)
                    file.Parse(Line);
            });
        }

        public (string, string) Parse(string line)
        {
            string[] fields = line.Split(',');
            return (fields[0], fields[3]);
        }
    }
}

namespace Shop.Exports
{
    using Shop.Hosting;

    /// <summary>A buffer of 256 KB for each page.</summary>
    [Load("loh-exports")]
    public sealed class PageWriter
    {
        long written;

        public static void Start()
        {
            var writer = new PageWriter();
            Service.Requests(400, n => Task.Run(() => writer.WritePage(n)));
        }

        void WritePage(int number)
        {
            var buffer = new byte[256 * 1024];
            buffer[number % buffer.Length] = 1;
            Interlocked.Add(ref written, buffer.Length);
        }
    }
}
