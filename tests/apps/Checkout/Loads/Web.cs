namespace Checkout.Loads;

/// <summary>An ASP.NET minimal API on loopback with clients of its own: GET /total does some awaits and some CPU,
/// GET /metrics tells Prometheus of it.</summary>
static class Web
{
    public static async Task Run(Options options)
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls($"http://127.0.0.1:{options.Port}");
        var app = builder.Build();
        app.MapGet("/total", TotalAsync);
        app.MapGet("/metrics", Metrics);
        await app.StartAsync();
        Progress.Port = new Uri(app.Urls.First()).Port;
        int clients = options.Threads > 0 ? options.Threads : 4;
        for (int i = 0; i < clients; i++)
            _ = Task.Run(() => Client($"http://127.0.0.1:{Progress.Port}/total"));
    }

    static async Task<string> TotalAsync()
    {
        await Task.Delay(1);
        double tax = Pricing.Tax.Metered(80);
        await Task.Yield();
        double stock = Inventory.Stock.Metered(20);
        Progress.Count();
        return $"{{\"total\":{tax + stock:F3}}}";
    }

    static string Metrics() => FormattableString.Invariant($"""
        # TYPE process_cpu_seconds_total counter
        process_cpu_seconds_total {System.Diagnostics.Process.GetCurrentProcess().TotalProcessorTime.TotalSeconds:F3}
        # TYPE process_working_set_bytes gauge
        process_working_set_bytes {Environment.WorkingSet}

        """).ReplaceLineEndings("\n");

    static async Task Client(string url)
    {
        using var http = new HttpClient();
        while (true)
            await http.GetStringAsync(url);
    }
}
