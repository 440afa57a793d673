namespace Shop.Front
{
    using System.Runtime.CompilerServices;
    using Shop.Hosting;

    /// <summary>A service elsewhere, asked by HTTP.</summary>
    sealed class Remote(int ms)
    {
        static readonly HttpClient Http = new(new SocketsHttpHandler { MaxConnectionsPerServer = 400 });
        readonly string url = $"http://127.0.0.1:{Elsewhere.Start()}/{ms}";

        public Task<string> Ask() => Http.GetStringAsync(url);
    }

    /// <summary>A call for each of a basket's thirty lines, one after the other.</summary>
    [Load("requests-line-by-line")]
    static class BasketEndpoint
    {
        public static Task Start()
        {
            var stock = new Remote(3);
            return Web.Serve(app => app.MapGet("/basket", async () => await Total(stock)), "/basket", 2, 20);
        }

        static async Task<int> Total(Remote stock)
        {
            int sum = 0;
            for (int line = 0; line < 30; line++)
                sum += (await stock.Ask()).Length;
            return sum;
        }
    }

    /// <summary>One call of 150 ms is nearly all of the request.</summary>
    [Load("requests-slow-service")]
    static class PriceEndpoint
    {
        public static Task Start()
        {
            var prices = new Remote(150);
            return Web.Serve(app => app.MapGet("/price", async () => await prices.Ask()), "/price", 4, 20);
        }
    }

    /// <summary>Each request blocks a worker of the pool until a task that needs another one has ended.</summary>
    [Load("requests-blocked")]
    static class StockEndpoint
    {
        public static Task Start()
        {
            var stock = new Remote(50);
            return Web.Serve(app => app.MapGet("/stock", () => Count(stock)), "/stock", 24, 5);
        }

        static async Task<string> CountAsync(Remote stock) => await stock.Ask();

        [MethodImpl(MethodImplOptions.NoInlining)]
        static string Count(Remote stock) => CountAsync(stock).Result;
    }

    /// <summary>Eight clients want a lock that each holds for 15 ms.</summary>
    [Load("requests-locked")]
    static class SeatEndpoint
    {
        static readonly object Plan = new();

        public static Task Start()
        {
            ThreadPool.SetMinThreads(16, 4);
            return Web.Serve(app => app.MapGet("/seat", () => Reserve()), "/seat", 8);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static string Reserve()
        {
            lock (Plan)
                Thread.Sleep(15);
            return "A1";
        }
    }

    /// <summary>A gate for one, in which each stays 25 ms.</summary>
    [Load("requests-gate")]
    static class PrinterEndpoint
    {
        static readonly SemaphoreSlim Printer = new(1);

        public static Task Start() => Web.Serve(app => app.MapGet("/print", async () => await Print()), "/print", 6);

        static async Task<string> Print()
        {
            await Printer.WaitAsync();
            try
            {
                await Task.Delay(25);
            }
            finally
            {
                Printer.Release();
            }
            return "done";
        }
    }

    /// <summary>60 ms of CPU time a request.</summary>
    [Load("requests-compute")]
    static class RouteEndpoint
    {
        public static Task Start() => Web.Serve(app => app.MapGet("/route", () => Shortest()), "/route", 1, 20);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static double Shortest()
        {
            double sum = 0;
            for (int i = 1; i < 12_000_000; i++)
                sum += Math.Sqrt(i) / i;
            return sum;
        }
    }

    /// <summary>An import has the database for 400 ms at a time, and each sale waits for it.</summary>
    [Load("requests-sqlite-locked")]
    static class TillEndpoint
    {
        public static Task Start()
        {
            ThreadPool.SetMinThreads(16, 4);
            Ledger.Make();
            Service.Every("import", 300, () =>
            {
                using var connection = Ledger.Open();
                using var transaction = connection.BeginTransaction();
                Ledger.Execute(connection, "UPDATE entries SET amount = amount + 1");
                Thread.Sleep(400);
                transaction.Rollback();
            });
            return Web.Serve(app => app.MapGet("/till", () => Sell()), "/till", 2, 20);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static string Sell()
        {
            using var connection = Ledger.Open();
            Ledger.Execute(connection, "INSERT INTO entries(amount) VALUES (1)");
            return "sold";
        }
    }

    /// <summary>A unary call of gRPC that computes for 60 ms.</summary>
    [Load("requests-grpc-compute")]
    static class QuoteEndpoint
    {
        public static Task Start() => Rpc.Serve(Quote, 1, 20, 4);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Quote()
        {
            double sum = 0;
            for (int i = 1; i < 12_000_000; i++)
                sum += Math.Sqrt(i) / i;
            return (int)sum;
        }
    }

    /// <summary>Requests that retry by sleeping.</summary>
    [Load("requests-sleep")]
    static class GiftEndpoint
    {
        public static Task Start()
        {
            ThreadPool.SetMinThreads(16, 4);
            return Web.Serve(app => app.MapGet("/gift", () => Retry()), "/gift", 4);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static string Retry()
        {
            for (int i = 0; i < 4; i++)
                Thread.Sleep(20);
            return "done";
        }
    }

    /// <summary>One request of twenty waits for what never comes; the others take some ms.</summary>
    [Load("requests-hang")]
    static class TicketEndpoint
    {
        static readonly TaskCompletionSource<string> Never = new();
        static int number;

        public static async Task Start()
        {
            await Web.Serve(app => app.MapGet("/ticket", async () => await Issue()), "/ticket", 1, 20);
            string url = $"http://127.0.0.1:{Web.Port}/ticket";
            var http = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = 1000 }) { Timeout = Timeout.InfiniteTimeSpan };
            Service.Requests(20, _ => http.GetStringAsync(url));
        }

        static async Task<string> Issue()
        {
            await Task.Delay(5);
            return Interlocked.Increment(ref number) % 20 == 0 ? await Never.Task : "T1";
        }
    }

    /// <summary>A quarter of the requests fails.</summary>
    [Load("requests-fail")]
    static class CouponEndpoint
    {
        static int number;

        public static Task Start() =>
            Web.Serve(app => app.MapGet("/coupon", () => Interlocked.Increment(ref number) % 4 == 0 ? Results.StatusCode(503) : Results.Ok()), "/coupon", 2, 5);
    }

    /// <summary>Eighty requests at once each two seconds, each of which blocks for 100 ms, and a pool that has two threads.</summary>
    [Load("requests-burst")]
    static class DrawEndpoint
    {
        public static async Task Start()
        {
            await Web.Serve(app => app.MapGet("/draw", () => Draw()), "/draw", 1, 500);
            string url = $"http://127.0.0.1:{Web.Port}/draw";
            var http = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = 200 });
            Service.Every("players", 2000, () =>
            {
                for (int i = 0; i < 80; i++)
                    _ = http.GetStringAsync(url);
            });
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static string Draw()
        {
            Thread.Sleep(100);
            return "7";
        }
    }

    /// <summary>A controller-like class that reads from a socket as drivers did before async.</summary>
    [Load("requests-driver")]
    static class AccountEndpoint
    {
        public static Task Start()
        {
            int port = Elsewhere.Start();
            ThreadPool.SetMinThreads(24, 4);
            return Web.Serve(app => app.MapGet("/account", () => Load(port)), "/account", 6, 5);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Load(int port)
        {
            using var connection = new Shop.Ledger.LedgerConnection(port);
            return connection.Query(70);
        }
    }

    /// <summary>The slow one is rare: one path of five, of which the others are quick.</summary>
    [Load("requests-one-of-many")]
    static class StoreFront
    {
        public static async Task Start()
        {
            var reviews = new Remote(400);
            await Web.Serve(app =>
            {
                app.MapGet("/home", () => "home");
                app.MapGet("/cart/{id}", async (int id) => { await Task.Delay(2); return id; });
                app.MapGet("/reviews/{id}", async (int id) => await reviews.Ask());
            }, "/home", 2, 5);
            foreach (string path in new[] { "/cart/1", "/reviews/5", "/cart/2", "/reviews/6" })
            {
                string url = $"http://127.0.0.1:{Web.Port}{path}";
                var http = new HttpClient();
                _ = Task.Run(async () => { while (true) await http.GetStringAsync(url); });
            }
        }
    }

    /// <summary>Twelve clients of a page that asks a service of 40 ms over two connections.</summary>
    [Load("requests-narrow")]
    static class FreightEndpoint
    {
        public static Task Start()
        {
            string url = $"http://127.0.0.1:{Elsewhere.Start()}/40";
            var http = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = 2 });
            return Web.Serve(app => app.MapGet("/freight", async () => await http.GetStringAsync(url)), "/freight", 12);
        }
    }

    /// <summary>What each of forty requests has to do next waits behind others that block a small pool for 100 ms each.</summary>
    [Load("requests-starved")]
    static class AuctionEndpoint
    {
        public static Task Start() => Web.Serve(app => app.MapGet("/auction", Bid), "/auction", 40);

        static async Task<string> Bid()
        {
            await Task.Yield();
            Thread.Sleep(100);
            return "8";
        }
    }

    /// <summary>Six requests that never end were there long before anybody looked; what comes now is fast.</summary>
    [Load("requests-hung-before")]
    static class ParcelEndpoint
    {
        static readonly TaskCompletionSource<string> Never = new();
        static readonly List<System.Net.Sockets.TcpClient> Waiting = new();

        public static async Task Start()
        {
            await Web.Serve(app =>
            {
                app.MapGet("/parcel", () => Never.Task);
                app.MapGet("/clock", () => "12");
            }, "/clock", 2, 5);
            for (int i = 0; i < 6; i++)
            {
                var client = new System.Net.Sockets.TcpClient("127.0.0.1", Web.Port);
                client.GetStream().Write("GET /parcel HTTP/1.1\r\nHost: shop\r\n\r\n"u8);
                Waiting.Add(client);
            }
        }
    }

    /// <summary>Clients that read a response of 16 MB in small pieces, and rest after each.</summary>
    [Load("requests-slow-readers")]
    static class ExportEndpoint
    {
        public static async Task Start()
        {
            await Web.Serve(app =>
            {
                app.MapGet("/export", Write);
                app.MapGet("/clock", () => "12");
            }, "/clock", 2, 5);
            for (int i = 0; i < 6; i++)
                _ = Task.Run(() => Read(Web.From("127.0.0.1", 64 * 1024)));
        }

        static async Task Write(HttpContext context)
        {
            var block = new byte[64 * 1024];
            for (int i = 0; i < 256; i++)
                await context.Response.Body.WriteAsync(block);
        }

        static async Task Read(HttpClient http)
        {
            var piece = new byte[128 * 1024];
            while (true)
            {
                await using var body = await http.GetStreamAsync($"http://127.0.0.1:{Web.Port}/export");
                while (await body.ReadAtLeastAsync(piece, piece.Length, false) == piece.Length)
                    await Task.Delay(5);
            }
        }
    }

    /// <summary>A crawler, and six who ask now and then.</summary>
    [Load("requests-one-client")]
    static class SearchEndpoint
    {
        public static async Task Start()
        {
            await Web.Serve(app =>
            {
                app.MapGet("/search", async () => { await Task.Delay(40); return "none"; });
                app.MapGet("/clock", () => "12");
            }, "/clock", 1, 20);
            for (int i = 0; i < 8; i++)
                _ = Web.Ask(Web.From("127.0.0.2"), "/search", 0);
            for (int i = 3; i < 9; i++)
                _ = Web.Ask(Web.From($"127.0.0.{i}"), "/search", 500);
        }
    }

    /// <summary>A cache over one connection that takes 120 ms for an answer.</summary>
    [Load("requests-slow-cache")]
    static class CartEndpoint
    {
        public static Task Start()
        {
            var cache = new LineClient(Elsewhere.Start());
            return Web.Serve(app => app.MapGet("/cart", async () => { await cache.Ask(120); return "cart"; }), "/cart", 1, 60);
        }
    }

    /// <summary>150 questions to a cache, one after the other, which are answered at once.</summary>
    [Load("requests-cache-line-by-line")]
    static class InvoiceEndpoint
    {
        public static Task Start()
        {
            var cache = new LineClient(Elsewhere.Start());
            return Web.Serve(app => app.MapGet("/invoice", async () =>
            {
                for (int line = 0; line < 150; line++)
                    await cache.Ask(0);
                return "sum";
            }), "/invoice", 1, 60);
        }
    }

    /// <summary>A worker of the pool blocks until the cache has answered.</summary>
    [Load("requests-cache-blocks")]
    static class WishEndpoint
    {
        public static Task Start()
        {
            var cache = new LineClient(Elsewhere.Start());
            ThreadPool.SetMinThreads(8, 4);
            return Web.Serve(app => app.MapGet("/wish", () => Get(cache)), "/wish", 1, 60);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static string Get(LineClient cache)
        {
            cache.Ask(120).Wait();
            return "wish";
        }
    }

    /// <summary>A semaphore in which each stays 25 ms, beside a consumer that asks a broker for messages again and again; it answers each 40 ms that there
    /// are none.</summary>
    [Load("requests-gate-beside-queue")]
    static class LabelEndpoint
    {
        static readonly SemaphoreSlim Printer = new(1);

        public static Task Start()
        {
            var broker = new LineClient(Elsewhere.Start());
            _ = Task.Run(async () => { while (true) { await broker.Ask(40); await Task.Delay(10); } });
            return Web.Serve(app => app.MapGet("/label", async () => await Print()), "/label", 6);
        }

        static async Task<string> Print()
        {
            await Printer.WaitAsync();
            try
            {
                await Task.Delay(25);
            }
            finally
            {
                Printer.Release();
            }
            return "done";
        }
    }

    /// <summary>A call of 150 ms to another service, beside a heartbeat of which an answer is nearly always due, after 80 ms.</summary>
    [Load("requests-service-beside-heartbeat")]
    static class TariffEndpoint
    {
        public static Task Start()
        {
            var leader = new LineClient(Elsewhere.Start());
            _ = Task.Run(async () => { while (true) { await leader.Ask(80); await Task.Delay(10); } });
            var quotes = new Remote(150);
            return Web.Serve(app => app.MapGet("/quote", async () => await quotes.Ask()), "/quote", 4);
        }
    }
}
