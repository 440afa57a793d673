// A web application whose requests' time is known: `RequestApp all|bare [--postgres CONNECTION] [--redis PLACE] [--sqlserver] [--holding] [--apm]
// [--opentelemetry] [--strangers] [--seconds N]` serves
// HTTP/1.1 at its port and HTTP/2 without TLS at details.http2, and tells at /truth what it has measured itself around each part of each request. `bare` has
// the same endpoints and measures nothing: for what others cost.
namespace Shop;

using System.Net;
using Checkout;
using Microsoft.AspNetCore.Server.Kestrel.Core;

public static class Program
{
    const int Line = 64 * 1024; // a path of 16 KB is to come in

    public static async Task<int> Main(string[] args)
    {
        if (args.Contains("--sqlserver")) // its client refuses to work without ICU, which is loaded when it is first asked for
            AppContext.SetSwitch("System.Globalization.Invariant", false);
        if (args is ["call", ..])
            return await Calls.Caller.Run(args);
        if (args is not ["all" or "bare", ..])
        {
            Console.Error.WriteLine("usage: RequestApp all|bare [--postgres CONNECTION] [--seconds N]");
            return 2;
        }
        var builder = WebApplication.CreateBuilder(new WebApplicationOptions { Args = [], ContentRootPath = AppContext.BaseDirectory });
        builder.Logging.ClearProviders();
        builder.WebHost.ConfigureKestrel(kestrel =>
        {
            kestrel.Limits.MaxRequestLineSize = Line;
            kestrel.Limits.MaxRequestBufferSize = 2 * Line;
            kestrel.Limits.Http2.MaxStreamsPerConnection = 1000;
            kestrel.Listen(IPAddress.Loopback, 0, on => on.Protocols = HttpProtocols.Http1);
            kestrel.Listen(IPAddress.Loopback, 0, on => on.Protocols = HttpProtocols.Http2);
        });
        builder.Services.AddControllers();
        builder.Services.AddSignalR();
        builder.Services.AddGrpc();
        builder.Services.AddRouting();
        if (args.Contains("--opentelemetry"))
            Telemetry.Start(builder.Services);
        var app = builder.Build();
        Slow.Start();
        Sqlite.Start();
        string postgres = Option(args, "--postgres") ?? "";
        if (postgres != "")
            await Postgres.Start(postgres);
        string redis = Option(args, "--redis") ?? "";
        if (redis != "")
            await Redis.Start(redis);
        if (args.Contains("--holding")) // it takes the place of a source of Npgsql's
            Holding.Start();
        if (args.Contains("--apm"))
            Apm.Start();
        if (args[0] == "all")
            Truth.Use(app);
        if (args.Contains("--strangers")) // it takes the place of a source of Npgsql's, too
            Strangers.Use(app);
        Truth.Map(app);
        Holding.Map(app);
        Apm.Map(app);
        Telemetry.Map(app);
        Healthy.Map(app);
        Sick.Map(app);
        Awaiting.Map(app);
        if (postgres != "")
            Postgres.Map(app);
        if (redis != "")
            Redis.Map(app);
        await app.StartAsync();
        int[] ports = app.Urls.Select(u => new Uri(u).Port).ToArray();
        Progress.Port = ports[0];
        Progress.Ready(args[0], new { http2 = ports[1], slow = Slow.Port, tls = Slow.TlsPort });
        await Task.WhenAny(app.WaitForShutdownAsync(), Progress.Report(int.Parse(Option(args, "--seconds") ?? int.MaxValue.ToString())));
        return 0;
    }

    /// <summary>Whatever the handler returns is the answer's body.</summary>
    public static void Get(this WebApplication app, string route, Delegate handler) => app.MapGet(route, handler);

    static string? Option(string[] args, string name)
    {
        int at = Array.IndexOf(args, name);
        return at >= 0 ? args[at + 1] : null;
    }
}
