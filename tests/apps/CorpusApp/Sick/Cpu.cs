namespace Shop.Catalog
{
    using System.Text.RegularExpressions;
    using Shop.Hosting;

    /// <summary>A customer's search text is checked by an expression whose groups overlap.</summary>
    public sealed class ProductFilter
    {
        static readonly Regex Words = new(@"^(\w+\s?)*$");

        public bool IsPlain(string query) => Words.IsMatch(query);
    }

    [Load("regex-search")]
    static class SearchEndpoint
    {
        static readonly ProductFilter Filter = new();
        static readonly string[] Queries = ["shoes for children", "winter coat", "abcdefghijklmnopqrst!"];
        static int number;

        public static Task Start() =>
            Web.Serve(app => app.MapGet("/products", () => Search(Queries[Interlocked.Increment(ref number) % 3])), "/products");

        static string Search(string query) => Filter.IsPlain(query) ? "[]" : "[\"bad query\"]";
    }

    /// <summary>A search that makes a compiled expression for each request.</summary>
    [Load("jit-regex")]
    static class NameSearch
    {
        static readonly string[] Names = Enumerable.Range(0, 50).Select(i => $"Product {i} of the season").ToArray();
        static int number;

        public static Task Start() =>
            Web.Serve(app => app.MapGet("/names", () => Matches($"product {Interlocked.Increment(ref number)}").ToString()), "/names");

        static int Matches(string text)
        {
            var expression = new Regex($"^{Regex.Escape(text)}.*season$", RegexOptions.Compiled | RegexOptions.IgnoreCase);
            return Names.Count(name => expression.IsMatch(name));
        }
    }
}

namespace Shop.Audit
{
    using System.Text.RegularExpressions;
    using Shop.Hosting;

    /// <summary>Mail addresses are taken out of log lines before they are stored.</summary>
    [Load("regex-logs")]
    public sealed class LogScrubber
    {
        static readonly Regex Mail = new(@"^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@)[a-z0-9]+[.][a-z]{2,3}$", RegexOptions.Compiled);

        public static void Start()
        {
            var scrubber = new LogScrubber();
            string[] lines = ["info@shop.example", "order.4711", "d41d8cd98f00b204e9800"];
            Service.Thread("log-scrubber", () =>
            {
                for (int i = 0; ; i++)
                    scrubber.Scrub(lines[i % lines.Length]);
            });
        }

        public string Scrub(string line) => Mail.Replace(line, "***");
    }
}

namespace Shop.Pricing
{
    using System.Linq.Expressions;
    using Shop.Hosting;

    public sealed record Price(string Product, string Currency, decimal Amount);

    /// <summary>The whole list is sorted for the ten cheapest ones.</summary>
    public sealed class PriceList
    {
        readonly Price[] prices = Enumerable.Range(0, 20_000).Select(i => new Price($"product-{i * 7919 % 20_011}", "EUR", i * 31 % 977)).ToArray();

        public Price[] Cheapest()
        {
            var copy = prices.ToList();
            copy.Sort((a, b) => a.Amount != b.Amount ? a.Amount.CompareTo(b.Amount) : string.CompareOrdinal(a.Product, b.Product));
            return copy.Take(10).ToArray();
        }
    }

    [Load("sort-prices")]
    static class PriceEndpoint
    {
        static readonly PriceList List = new();

        public static Task Start() => Web.Serve(app => app.MapGet("/prices", () => List.Cheapest().Length.ToString()), "/prices");
    }

    /// <summary>Each request compiles its discount rule anew.</summary>
    [Load("jit-expressions")]
    static class RuleEngine
    {
        public static void Start() => Service.Every("rule-engine", 0, () => Discount(100, Random.Shared.Next(50)));

        static decimal Discount(decimal amount, int percent)
        {
            var a = Expression.Parameter(typeof(decimal), "amount");
            var rule = Expression.Lambda<Func<decimal, decimal>>(
                Expression.Multiply(a, Expression.Constant((100 - percent) / 100m)), a).Compile();
            return rule(amount);
        }
    }
}

namespace Shop.Games
{
    using Shop.Hosting;

    public readonly record struct Score(int Player, int Points) : IComparable<Score>
    {
        public int CompareTo(Score other) => other.Points.CompareTo(Points);
    }

    /// <summary>Sorted again after each score.</summary>
    public sealed class Ranking
    {
        readonly List<Score> scores = [];

        public void Add(Score score)
        {
            scores.Add(score);
            if (scores.Count > 20_000)
                scores.RemoveRange(10_000, scores.Count - 10_000);
            scores.Sort();
        }
    }

    [Load("sort-ranking")]
    static class Leaderboard
    {
        public static void Start()
        {
            var ranking = new Ranking();
            for (int i = 0; i < 50; i++)
                ranking.Add(new Score(i, i));
            Service.Every("leaderboard", 0, () => ranking.Add(new Score(Random.Shared.Next(), Random.Shared.Next(1_000_000))));
        }
    }
}

namespace Shop.Import
{
    using Shop.Hosting;

    /// <summary>Empty fields of a supplier's file are found out by exceptions.</summary>
    [Load("throw-parse")]
    public sealed class StockFile
    {
        static readonly string Line = string.Join(';', Enumerable.Range(0, 40).Select(i => i % 2 == 0 ? "n/a" : i.ToString()));

        public static void Start()
        {
            var file = new StockFile();
            for (int i = 0; i < 2; i++)
                Service.Every("stock-import-" + i, 0, () => file.Quantities(Line));
        }

        public int Quantities(string line) => line.Split(';').Sum(Quantity);

        static int Quantity(string field)
        {
            try
            {
                return int.Parse(field);
            }
            catch (FormatException)
            {
                return 0;
            }
        }
    }
}

namespace Shop.Payments
{
    using Shop.Hosting;

    public sealed class CardDeclinedException(string card) : Exception("declined: " + card);

    /// <summary>A declined card is an exception that goes up through four awaits.</summary>
    [Load("throw-async")]
    public sealed class Gateway
    {
        public static void Start()
        {
            var gateway = new Gateway();
            for (int i = 0; i < 2; i++)
                _ = Task.Run(async () =>
                {
                    while (true)
                        await gateway.PayAsync("4111-1111");
                });
        }

        public async Task<bool> PayAsync(string card)
        {
            try
            {
                await AuthorizeAsync(card);
                return true;
            }
            catch (CardDeclinedException)
            {
                return false;
            }
        }

        static async Task AuthorizeAsync(string card) => await RetryAsync(card);

        static async Task RetryAsync(string card) => await SendAsync(card);

        static async Task SendAsync(string card)
        {
            await Task.Yield();
            throw new CardDeclinedException(card);
        }
    }
}

namespace Shop.Warehouse
{
    using Shop.Hosting;

    /// <summary>A thread waits for a robot by looking at a flag without a rest.</summary>
    [Load("spin-flag")]
    public sealed class RobotArm
    {
        bool ready;
        int moves;

        public static void Start()
        {
            var arm = new RobotArm();
            Service.Every("robot-controller", 300, () => Volatile.Write(ref arm.ready, true));
            Service.Every("robot-arm", 0, arm.Move);
        }

        void Move()
        {
            WaitUntilReady();
            Volatile.Write(ref ready, false);
            moves++;
        }

        void WaitUntilReady()
        {
            while (!Volatile.Read(ref ready))
            {
            }
        }
    }

    /// <summary>A lock of somebody's own, which spins while its owner waits for the disk.</summary>
    [Load("spin-lock")]
    public sealed class StockGate
    {
        int taken;
        int stock;

        public static void Start()
        {
            var gate = new StockGate();
            for (int i = 0; i < 4; i++)
                Service.Every("stock-worker-" + i, 0, gate.Book);
        }

        void Book()
        {
            Enter();
            stock++;
            Thread.Sleep(3); // writes its journal
            Volatile.Write(ref taken, 0);
        }

        void Enter()
        {
            while (Interlocked.CompareExchange(ref taken, 1, 0) != 0)
                Thread.SpinWait(30);
        }
    }
}
