namespace Shop.Simulation
{
    using Shop.Hosting;

    /// <summary>Busy by design: a simulation computes on one thread all the time.</summary>
    [Load("busy-simulation")]
    public static class DemandModel
    {
        static double result;

        public static void Start() => Service.Every("simulation", 0, () => result += Step(20_000));

        [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)] // for the large method that it would be
        public static double Step(int rounds)
        {
            double x = 0.5;
            for (int i = 0; i < rounds; i++)
                x = Math.Sin(x) * 3.7 * (1 - x) + Math.Sqrt(i);
            return x;
        }
    }

    /// <summary>A linear expression on every line: much used, and sound.</summary>
    [Load("regex-sound")]
    public static class LineReader
    {
        static readonly System.Text.RegularExpressions.Regex Field = new(@"(\d+);([a-z]+);", System.Text.RegularExpressions.RegexOptions.Compiled);
        static readonly string Text = string.Concat(Enumerable.Range(0, 30).Select(i => $"{i};field;"));

        public static void Start() => Service.Every("line-reader", 2, () => GC.KeepAlive(Field.Count(Text)));
    }

    /// <summary>A worker that hands over by SpinWait, which soon yields: short spins, much waiting.</summary>
    [Load("spin-brief")]
    public static class Handover
    {
        static int turn;

        public static void Start()
        {
            Service.Every("producer", 2, () => Volatile.Write(ref turn, 1));
            Service.Every("consumer", 0, () =>
            {
                var spin = new SpinWait();
                while (Volatile.Read(ref turn) == 0)
                    spin.SpinOnce();
                Volatile.Write(ref turn, 0);
                GC.KeepAlive(DemandModel.Step(20_000));
            });
        }
    }

    /// <summary>Some exceptions a second, as any service has.</summary>
    [Load("exceptions-few")]
    public static class Lookups
    {
        static int number;

        public static Task Start() => Web.Serve(app => app.MapGet("/customers", Find), "/customers", clients: 1, restMs: 5);

        static string Find()
        {
            try
            {
                if (++number % 40 == 0)
                    throw new KeyNotFoundException("customer " + number);
                return DemandModel.Step(5_000).ToString("F3");
            }
            catch (KeyNotFoundException)
            {
                return "none";
            }
        }
    }

    /// <summary>A web service at half a processor: a bit of everything.</summary>
    [Load("web-mixed")]
    static class Shopfront
    {
        sealed record Line(int Product, string Name, decimal Price);

        static readonly Line[] Lines = Enumerable.Range(0, 100).Select(i => new Line(i, "product " + i, i * 1.2m)).ToArray();

        public static Task Start() => Web.Serve(app => app.MapGet("/cart", Cart), "/cart", clients: 2, restMs: 2);

        static string Cart()
        {
            var chosen = Lines.Where(l => l.Product % 3 == 0).OrderBy(l => l.Price).ToList();
            return System.Text.Json.JsonSerializer.Serialize(chosen);
        }
    }

    /// <summary>Sorts a small list with each request, which is what one does.</summary>
    [Load("sort-small")]
    static class Basket
    {
        public static void Start() => Service.Requests(300, n =>
        {
            int[] prices = new int[60];
            for (int i = 0; i < prices.Length; i++)
                prices[i] = (i * 7919 + n) % 101;
            Array.Sort(prices);
            GC.KeepAlive(DemandModel.Step(3_000));
            return Task.CompletedTask;
        });
    }
}

namespace Observer.Trace.ClrProfiler.Managed
{
    using Shop.Hosting;

    /// <summary>An APM beside the application: a thread that batches and sends spans.</summary>
    public static class SpanSender
    {
        sealed record Span(long Id, string Name, DateTime At);

        static readonly Queue<Span> Spans = new();

        public static void Start() => Service.Every("DD-TraceSender", 100, Flush);

        public static void Note(string name)
        {
            lock (Spans)
                Spans.Enqueue(new Span(Random.Shared.NextInt64(), name, DateTime.UtcNow));
        }

        static void Flush()
        {
            Span[] batch;
            lock (Spans)
            {
                batch = Spans.ToArray();
                Spans.Clear();
            }
            GC.KeepAlive(System.Text.Json.JsonSerializer.Serialize(batch));
        }
    }
}

namespace Shop.Gateway
{
    using Shop.Hosting;

    /// <summary>Some garbage a request, as any service makes: young, cheap, and gone.</summary>
    [Load("garbage-mild")]
    static class Proxy
    {
        static byte[]? last;

        public static void Start() => Service.Requests(300, n =>
        {
            last = new byte[2_000 + n % 500];
            return Task.CompletedTask;
        });
    }

    /// <summary>One second of much allocation at the start, then hardly any.</summary>
    [Load("garbage-startup")]
    static class RouteTable
    {
        static readonly Dictionary<string, int> Routes = [];

        public static void Start()
        {
            for (int i = 0; i < 200_000; i++)
                Routes["/route/" + i % 5_000] = i;
            Service.Requests(50, n => Task.FromResult(Routes.Count + n));
        }
    }

    /// <summary>Large arrays, rented: the pool keeps them, nothing is allocated.</summary>
    [Load("pool-large")]
    static class Upload
    {
        public static void Start() => Service.Every("upload", 2, () =>
        {
            byte[] buffer = System.Buffers.ArrayPool<byte>.Shared.Rent(500_000);
            buffer.AsSpan(0, 20_000).Fill(7);
            System.Buffers.ArrayPool<byte>.Shared.Return(buffer);
        });
    }

    /// <summary>Structs, spans and a stack buffer: fast without a heap.</summary>
    [Load("spans-only")]
    static class Parser
    {
        static readonly string Line = string.Join(',', Enumerable.Range(0, 30));
        static long sum;

        public static void Start() => Service.Every("parser", 1, () =>
        {
            for (int n = 0; n < 500; n++)
            {
                ReadOnlySpan<char> rest = Line;
                for (int comma; (comma = rest.IndexOf(',')) >= 0; rest = rest[(comma + 1)..])
                    sum += int.Parse(rest[..comma]);
            }
        });
    }

    /// <summary>Collects once in six seconds, when the last client has gone: a heap of some megabytes, so that it costs a millisecond.</summary>
    [Load("collect-seldom")]
    static class IdleCollector
    {
        public static void Start()
        {
            Service.Requests(50, n => Task.FromResult(new byte[1_000 + n % 10]));
            Service.Every("idle-collector", 6_000, () => GC.Collect(2, GCCollectionMode.Optimized, blocking: false));
        }
    }

    /// <summary>Young collections twice a second, each far below a millisecond or two.</summary>
    [Load("gen0-cheap")]
    static class Renderer
    {
        public static void Start()
        {
            object? last = null;
            Service.Every("renderer", 1, () =>
            {
                for (int i = 0; i < 100; i++)
                    last = new byte[400];
                GC.KeepAlive(last);
            });
        }
    }

    /// <summary>Server GC where it belongs: as many heaps as processors (the environment).</summary>
    [Load("server-fitting")]
    static class Aggregator
    {
        static object? last;

        public static void Start()
        {
            for (int i = 0; i < 2; i++)
                Service.Every("aggregator-" + i, 2, () =>
                {
                    for (int n = 0; n < 200; n++)
                        last = new byte[1_000];
                });
        }
    }

    /// <summary>A heap of some size whose full collections run in the background.</summary>
    [Load("background-gc")]
    static class Prices
    {
        sealed record Price(int Product, string Text);

        static readonly Dictionary<int, Price> Known = Enumerable.Range(0, 150_000).ToDictionary(i => i, i => new Price(i, "price " + i));

        public static void Start() => Service.Every("price-update", 5, () =>
        {
            for (int i = 0; i < 100; i++)
                Known[Random.Shared.Next(150_000)] = new Price(i, "price " + i);
        });
    }
}

namespace Shop.Texts
{
    using Shop.Hosting;

    public sealed record Article(int Id, string Title, string Country);

    /// <summary>Countries of all articles are interned: one string each.</summary>
    [Load("strings-interned")]
    static class Articles
    {
        static readonly List<Article> All = Enumerable.Range(0, 60_000)
            .Select(i => new Article(i, "Article number " + i, string.Intern(string.Concat("country-", (i % 40).ToString())))).ToList();

        public static void Start() => Service.Every("articles", 100, () => GC.KeepAlive(All[Random.Shared.Next(All.Count)]));
    }

    /// <summary>Many strings, no two of them equal.</summary>
    [Load("strings-unique")]
    static class Tokens
    {
        static readonly HashSet<string> All = Enumerable.Range(0, 120_000).Select(_ => Guid.NewGuid().ToString("N")).ToHashSet();

        public static void Start() => Service.Every("tokens", 100, () => GC.KeepAlive(All.Contains("x")));
    }

    /// <summary>Some hundred equal strings in a heap of twenty megabytes of others.</summary>
    [Load("strings-few")]
    static class Labels
    {
        static readonly string[] All = Enumerable.Range(0, 100_000)
            .Select(i => i % 200 == 0 ? string.Concat("out of ", "stock") : "a label that only one product has: " + i).ToArray();

        public static void Start() => Service.Every("labels", 100, () => GC.KeepAlive(All[Random.Shared.Next(All.Length)]));
    }

    /// <summary>Buffers on the pinned object heap, made once and used for ever: what is meant to be pinned.</summary>
    [Load("pinned-meant")]
    static class ReceiveBuffers
    {
        static readonly byte[][] Buffers = Enumerable.Range(0, 600).Select(_ => GC.AllocateArray<byte>(32_000, pinned: true)).ToArray();

        public static void Start() => Service.Every("receiver", 10, () => Buffers[Random.Shared.Next(Buffers.Length)][0]++);
    }
}

namespace Shop.Front
{
    using Observer.Trace.ClrProfiler.Managed;
    using Shop.Hosting;
    using Shop.Simulation;

    /// <summary>Watched by an APM, which takes some percent; the application's own work takes the rest.</summary>
    [Load("apm-beside")]
    static class CartPages
    {
        public static void Start()
        {
            SpanSender.Start();
            Service.Every("request-mill", 1, () =>
            {
                SpanSender.Note("GET /cart");
                GC.KeepAlive(DemandModel.Step(20_000));
            });
        }
    }
}

namespace Shop.Startup
{
    using Shop.Hosting;
    using Shop.Simulation;

    /// <summary>Probes settings by exceptions while it starts, and never again.</summary>
    [Load("throw-startup")]
    public static class SettingsProbe
    {
        static readonly Dictionary<string, int> Values = [];

        public static void Start()
        {
            for (int i = 0; i < 500; i++)
            {
                try
                {
                    Values["x" + i] = int.Parse("not set");
                }
                catch (FormatException)
                {
                    Values["x" + i] = 0;
                }
            }
            Service.Every("worker", 1, () => GC.KeepAlive(DemandModel.Step(15_000 + Values.Count)));
        }
    }

    /// <summary>A lock that four threads share and hold for microseconds.</summary>
    [Load("lock-shared")]
    public static class Tally
    {
        static readonly object Gate = new();
        static long sum;

        public static void Start()
        {
            for (int i = 0; i < 4; i++)
                Service.Every("tally-" + i, 1, () =>
                {
                    double x = DemandModel.Step(8_000);
                    lock (Gate)
                        sum += (long)x;
                });
        }
    }
}
