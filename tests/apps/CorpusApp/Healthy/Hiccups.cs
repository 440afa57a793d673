namespace Shop.Hiccups
{
    using Shop.Hosting;
    using Shop.Simulation;

    /// <summary>Browsers that go away: fifteen requests a second end in OperationCanceledException, beside work.</summary>
    [Load("hiccup-aborted")]
    static class ProductPages
    {
        public static async Task Start()
        {
            await Web.Serve(app => app.MapGet("/product", async (HttpContext context) =>
            {
                await Task.Delay(30_000, context.RequestAborted);
                return "product";
            }), "/", 0);
            Service.Every("work", 2, () => GC.KeepAlive(DemandModel.Step(8000)));
            var http = new HttpClient();
            string url = $"http://127.0.0.1:{Web.Port}/product";
            Service.Requests(5, async _ =>
            {
                using var gone = new CancellationTokenSource(100);
                try
                {
                    await http.GetStringAsync(url, gone.Token);
                }
                catch (OperationCanceledException)
                {
                }
            });
        }
    }

    /// <summary>A cache that is read anew each two seconds, with three entries that are no numbers.</summary>
    [Load("hiccup-refresh")]
    static class PriceFile
    {
        static readonly string[] Lines = Enumerable.Range(0, 2000).Select(i => i % 700 == 9 ? "n/a" : i.ToString()).ToArray();

        public static void Start()
        {
            Service.Every("work", 2, () => GC.KeepAlive(DemandModel.Step(5000)));
            Service.Every("prices", 2000, () => GC.KeepAlive(Lines.Sum(Price)));
        }

        static int Price(string line)
        {
            try
            {
                return int.Parse(line);
            }
            catch (FormatException)
            {
                return 0;
            }
        }
    }

    /// <summary>Two writers of one row: the later one is told by an exception, reads again, and succeeds. Three a second.</summary>
    [Load("hiccup-conflict")]
    static class StockRow
    {
        sealed class ConcurrencyException : Exception
        {
        }

        static int version;

        public static void Start()
        {
            Service.Every("work", 2, () => GC.KeepAlive(DemandModel.Step(5000)));
            Service.Every("sales", 333, () => Sell(3));
        }

        static void Sell(int tries)
        {
            try
            {
                Write(tries);
            }
            catch (ConcurrencyException) when (tries > 2)
            {
                Sell(tries - 1);
            }
        }

        static void Write(int seen)
        {
            if (seen > 2)
                throw new ConcurrencyException();
            version++;
        }
    }

    /// <summary>A slow dependency meets its time limit now and then: one TimeoutException in a second and a half, and a rest before the next try.</summary>
    [Load("hiccup-timeout")]
    static class Shipping
    {
        public static void Start()
        {
            Service.Every("work", 2, () => GC.KeepAlive(DemandModel.Step(5000)));
            _ = Ask();
        }

        static async Task Ask()
        {
            while (true)
            {
                try
                {
                    await Task.Delay(Timeout.Infinite, CancellationToken.None).WaitAsync(TimeSpan.FromMilliseconds(500));
                }
                catch (TimeoutException)
                {
                    await Task.Delay(1000);
                }
            }
        }
    }

    /// <summary>The end of each file is told by an exception: ten files a second, and 2,000 records in each.</summary>
    [Load("hiccup-end")]
    static class BinaryFiles
    {
        static readonly byte[] File = new byte[8000];

        public static void Start() => Service.Every("files", 100, () => GC.KeepAlive(Read()));

        static long Read()
        {
            using var reader = new BinaryReader(new MemoryStream(File));
            long sum = 0;
            try
            {
                while (true)
                    sum += reader.ReadInt32() + (long)DemandModel.Step(100);
            }
            catch (EndOfStreamException)
            {
                return sum;
            }
        }
    }
}
