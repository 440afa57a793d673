namespace Shop.Counter
{
    using Shop.Hosting;

    /// <summary>Many requests of a millisecond or two.</summary>
    [Load("requests-fast")]
    static class ClockEndpoint
    {
        public static Task Start() => Web.Serve(app => app.MapGet("/clock", async () => { await Task.Delay(1); return "12"; }), "/clock", 4);
    }

    /// <summary>300 long polls that are answered each four seconds, beside requests that are fast.</summary>
    [Load("requests-polls")]
    static class NewsEndpoint
    {
        static TaskCompletionSource<string> next = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public static async Task Start()
        {
            await Web.Serve(app =>
            {
                app.MapGet("/news", () => next.Task);
                app.MapGet("/clock", () => "12");
            }, "/clock", 2, 5);
            Service.Every("editor", 4000, () =>
                Interlocked.Exchange(ref next, new(TaskCreationOptions.RunContinuationsAsynchronously)).SetResult("news"));
            string url = $"http://127.0.0.1:{Web.Port}/news";
            var http = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = 400 });
            for (int i = 0; i < 300; i++)
                _ = Task.Run(async () => { while (true) await http.GetStringAsync(url); });
        }
    }

    /// <summary>Event streams that stay open, beside requests that are fast.</summary>
    [Load("requests-stream")]
    static class TickerEndpoint
    {
        public static async Task Start()
        {
            await Web.Serve(app =>
            {
                app.MapGet("/ticker", Stream);
                app.MapGet("/clock", () => "12");
            }, "/clock", 2, 5);
            var http = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = 100 });
            for (int i = 0; i < 20; i++)
                _ = Task.Run(() => Read(http));
        }

        static async Task Read(HttpClient http)
        {
            while (true)
                await http.GetStringAsync($"http://127.0.0.1:{Web.Port}/ticker");
        }

        static async Task Stream(HttpContext context)
        {
            context.Response.ContentType = "text/event-stream";
            for (int i = 0; i < 20; i++)
            {
                await context.Response.WriteAsync("data: 1\n\n");
                await context.Response.Body.FlushAsync();
                await Task.Delay(100);
            }
        }
    }

    /// <summary>Reads of a SQLite database while others write to it in transactions that are short.</summary>
    [Load("requests-sqlite")]
    static class BalanceEndpoint
    {
        public static Task Start()
        {
            Ledger.Make("PRAGMA journal_mode=WAL;");
            Service.Every("import", 20, () =>
            {
                using var connection = Ledger.Open();
                Ledger.Execute(connection, "UPDATE entries SET amount = amount + 1");
            });
            return Web.Serve(app => app.MapGet("/balance", () => Read()), "/balance", 2, 5);
        }

        static string Read()
        {
            using var connection = Ledger.Open();
            using var command = connection.CreateCommand();
            command.CommandText = "SELECT amount FROM entries WHERE id = 1";
            return command.ExecuteScalar()!.ToString()!;
        }
    }

    /// <summary>Calls of gRPC that the server streams, open all the time and mostly silent, beside unary ones that are fast.</summary>
    [Load("requests-grpc-streams")]
    static class RatesEndpoint
    {
        public static Task Start() => Rpc.Serve(() => 7, 2, 5, 20);
    }

    /// <summary>Background work that outlives its request.</summary>
    [Load("requests-background")]
    static class MailEndpoint
    {
        public static Task Start() => Web.Serve(app => app.MapGet("/mail", () => { _ = Task.Run(Send); return "queued"; }), "/mail", 2, 20);

        static async Task Send()
        {
            await Task.Delay(300);
            GC.KeepAlive(Shop.Simulation.DemandModel.Step(20_000));
        }
    }

    /// <summary>Half of what is asked for is not there: that is the clients' mistake.</summary>
    [Load("requests-not-found")]
    static class ArchiveEndpoint
    {
        static int number;

        public static Task Start() =>
            Web.Serve(app => app.MapGet("/archive", () => Interlocked.Increment(ref number) % 2 == 0 ? Results.NotFound() : Results.Ok()), "/archive", 2, 5);
    }

    /// <summary>Clients that give up; the requests end at once.</summary>
    [Load("requests-given-up")]
    static class SearchBoxEndpoint
    {
        public static async Task Start()
        {
            await Web.Serve(app =>
            {
                app.MapGet("/suggest", async (HttpContext context) =>
                {
                    try
                    {
                        await Task.Delay(10_000, context.RequestAborted);
                    }
                    catch (OperationCanceledException)
                    {
                    }
                });
                app.MapGet("/clock", () => "12");
            }, "/clock", 2, 5);
            var http = new HttpClient { Timeout = TimeSpan.FromMilliseconds(40) };
            Service.Requests(5, async _ =>
            {
                try
                {
                    await http.GetStringAsync($"http://127.0.0.1:{Web.Port}/suggest");
                }
                catch (OperationCanceledException)
                {
                }
            });
        }
    }

    /// <summary>A web socket's cousin: uploads that are read slowly because their clients send slowly, beside fast requests.</summary>
    [Load("requests-slow-client")]
    static class PhotoEndpoint
    {
        public static async Task Start()
        {
            await Web.Serve(app =>
            {
                app.MapPost("/photo", async (HttpContext context) =>
                {
                    var buffer = new byte[4096];
                    while (await context.Request.Body.ReadAsync(buffer) > 0)
                        GC.KeepAlive(buffer);
                });
                app.MapGet("/clock", () => "12");
            }, "/clock", 2, 5);
            var http = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = 100 });
            for (int i = 0; i < 8; i++)
                _ = Task.Run(async () => { while (true) await http.PostAsync($"http://127.0.0.1:{Web.Port}/photo", new SlowPhoto()); });
        }

        sealed class SlowPhoto : HttpContent
        {
            protected override async Task SerializeToStreamAsync(Stream stream, System.Net.TransportContext? context)
            {
                for (int i = 0; i < 10; i++)
                {
                    await stream.WriteAsync(new byte[1000]);
                    await stream.FlushAsync();
                    await Task.Delay(80);
                }
            }

            protected override bool TryComputeLength(out long length)
            {
                length = 0;
                return false;
            }
        }
    }

    /// <summary>Ten calls a request that are made together and take 2 ms.</summary>
    [Load("requests-fan-out")]
    static class DashboardEndpoint
    {
        public static Task Start()
        {
            var widget = new Shop.Front.Remote(1);
            return Web.Serve(app => app.MapGet("/dashboard", async () => await Task.WhenAll(Enumerable.Range(0, 6).Select(_ => widget.Ask()))),
                "/dashboard", 2, 20);
        }
    }

    /// <summary>A pool of eight connections that two clients cannot use up.</summary>
    [Load("requests-pool-enough")]
    static class TicketOfficeEndpoint
    {
        public static Task Start()
        {
            string url = $"http://127.0.0.1:{Elsewhere.Start()}/5";
            var http = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = 8 });
            return Web.Serve(app => app.MapGet("/office", async () => await http.GetStringAsync(url)), "/office", 2, 10);
        }
    }

    /// <summary>Requests that wait for a timer of 30 ms by design, while one worker of a calm pool computes.</summary>
    [Load("requests-paced")]
    static class QueueingEndpoint
    {
        public static Task Start()
        {
            Service.Every("planner", 50, () => GC.KeepAlive(Shop.Simulation.DemandModel.Step(20_000)));
            return Web.Serve(app => app.MapGet("/paced", async () => { await Task.Delay(30); return "12"; }), "/paced", 4);
        }
    }

    /// <summary>Two hundred connections that were answered and are kept, as browsers do.</summary>
    [Load("requests-kept")]
    static class BrowserEndpoint
    {
        static readonly List<System.Net.Sockets.TcpClient> Kept = new();

        public static async Task Start()
        {
            await Web.Serve(app => app.MapGet("/clock", () => "12"), "/clock", 2, 5);
            for (int i = 0; i < 200; i++)
            {
                var client = new System.Net.Sockets.TcpClient("127.0.0.1", Web.Port);
                client.GetStream().Write("GET /clock HTTP/1.1\r\nHost: shop\r\n\r\n"u8);
                Kept.Add(client);
            }
        }
    }

    /// <summary>Responses of 1 MB to clients that read them at once.</summary>
    [Load("requests-download")]
    static class CatalogueEndpoint
    {
        public static Task Start() => Web.Serve(app => app.MapGet("/catalogue", () => Results.Bytes(new byte[1 << 20])), "/catalogue", 2, 20);
    }

    /// <summary>Requests of many that come by a proxy, a second one that has just begun, and a check of health.</summary>
    [Load("requests-proxied")]
    static class StockListEndpoint
    {
        public static async Task Start()
        {
            await Web.Serve(app =>
            {
                app.MapGet("/stocks", async () => { await Task.Delay(30); return "none"; });
                app.MapGet("/healthz", () => "fine");
            }, "/healthz", 1, 200);
            for (int i = 0; i < 8; i++)
                _ = Web.Ask(Web.From("127.0.0.2"), "/stocks", 0);
            _ = Web.Ask(Web.From("127.0.0.3"), "/stocks", 200);
            _ = Web.Ask(Web.From("127.0.0.4"), "/healthz", 200);
        }
    }

    /// <summary>A cache that answers at once.</summary>
    [Load("requests-quick-cache")]
    static class SessionEndpoint
    {
        public static Task Start()
        {
            var cache = new LineClient(Elsewhere.Start());
            return Web.Serve(app => app.MapGet("/session", async () => { await cache.Ask(0); return "12"; }), "/session", 2, 5);
        }
    }

    /// <summary>Requests that wait for a timer of 60 ms by design, beside a consumer whose broker answers each two seconds, as there is nothing new.</summary>
    [Load("requests-consumer")]
    static class OrderFeedEndpoint
    {
        public static Task Start()
        {
            var broker = new LineClient(Elsewhere.Start());
            _ = Task.Run(async () => { while (true) await broker.Ask(2000); });
            return Web.Serve(app => app.MapGet("/feed", async () => { await Task.Delay(60); return "none"; }), "/feed", 2, 20);
        }
    }

    /// <summary>Requests that tell a collector of what they do, which never answers, and wait for a timer of 60 ms by design.</summary>
    [Load("requests-told-elsewhere")]
    static class AuditEndpoint
    {
        public static Task Start()
        {
            var collector = new LineClient(Elsewhere.Start());
            return Web.Serve(app => app.MapGet("/audit", async () => { collector.Tell(); await Task.Delay(60); return "12"; }), "/audit", 2, 20);
        }
    }

    /// <summary>Requests that wait for a timer of 60 ms by design, beside work that asks a cache again and again.</summary>
    [Load("requests-beside-cache")]
    static class WeatherEndpoint
    {
        public static Task Start()
        {
            var cache = new LineClient(Elsewhere.Start());
            _ = Task.Run(async () => { while (true) await cache.Ask(30); });
            return Web.Serve(app => app.MapGet("/weather", async () => { await Task.Delay(60); return "sun"; }), "/weather", 1, 60);
        }
    }

    /// <summary>Requests, never none, that wait for a timer of 150 ms by design, beside a heartbeat whose answer is nearly always due: the other end keeps it
    /// for 100 ms, and the next one follows soon.</summary>
    [Load("requests-beside-heartbeat")]
    static class TideEndpoint
    {
        public static Task Start()
        {
            var leader = new LineClient(Elsewhere.Start());
            _ = Task.Run(async () => { while (true) { await leader.Ask(100); await Task.Delay(10); } });
            return Web.Serve(app => app.MapGet("/tide", async () => { await Task.Delay(150); return "low"; }), "/tide", 3);
        }
    }

    /// <summary>Requests that send a message which is confirmed after 70 ms, for which they do not wait, and wait for a timer of 110 ms by design.</summary>
    [Load("requests-confirmed")]
    static class ReceiptEndpoint
    {
        public static Task Start()
        {
            var journal = new LineClient(Elsewhere.Start());
            return Web.Serve(app => app.MapGet("/receipt", async () => { _ = journal.Ask(70); await Task.Delay(110); return "12"; }), "/receipt", 1, 60);
        }
    }
}
