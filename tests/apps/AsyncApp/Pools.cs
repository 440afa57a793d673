namespace Shop;

using System.Net.Http;
using Npgsql;

/// <summary>Pools of connections: of a database (environment DATABASE says where), and of HttpClient. Those that are full for good, and those
/// that only look so.</summary>
public static class Pools
{
    static readonly List<Task> keep = new();
    static readonly List<object> held = new();

    static NpgsqlDataSource Source(int most)
    {
        var source = NpgsqlDataSource.Create(Environment.GetEnvironmentVariable("DATABASE") + ";Timeout=300;Command Timeout=600;Maximum Pool Size=" + most);
        held.Add(source);
        return source;
    }

    /// <summary>Four reports take all connections, and take their time.</summary>
    public static async Task<object> Database()
    {
        var source = Source(4);
        for (int i = 0; i < 4; i++)
            keep.Add(ReportAsync(source, 600));
        await Task.Delay(1000);
        for (int i = 0; i < 36; i++)
            keep.Add(OrderAsync(source));
        await Task.Delay(500);
        return new { used = 4, waiting = 36 };
    }

    static async Task ReportAsync(NpgsqlDataSource source, double seconds)
    {
        await using var connection = await source.OpenConnectionAsync();
        await using var command = new NpgsqlCommand("SELECT pg_sleep(" + seconds.ToString(System.Globalization.CultureInfo.InvariantCulture) + ")", connection);
        await command.ExecuteNonQueryAsync();
    }

    static async Task<object?> OrderAsync(NpgsqlDataSource source)
    {
        await using var connection = await source.OpenConnectionAsync();
        await using var command = new NpgsqlCommand("SELECT 1", connection);
        return await command.ExecuteScalarAsync();
    }

    /// <summary>Connections that nobody gives back.</summary>
    public static async Task<object> DatabaseLeak()
    {
        var source = Source(4);
        for (int i = 0; i < 4; i++)
            held.Add(await source.OpenConnectionAsync());
        for (int i = 0; i < 36; i++)
            keep.Add(OrderAsync(source));
        await Task.Delay(500);
        return new { used = 4, waiting = 36 };
    }

    /// <summary>A pool that is always full, and whose connections go round.</summary>
    public static async Task<object> DatabaseBusy()
    {
        var source = Source(4);
        for (int i = 0; i < 16; i++)
            keep.Add(Task.Run(async () =>
            {
                for (;;)
                    await ReportAsync(source, 0.02);
            }));
        await Task.Delay(1000);
        return new { workers = 16 };
    }

    /// <summary>The same of HttpClient.</summary>
    public static async Task<object> HttpBusy()
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        var app = builder.Build();
        app.Map("/{*path}", async context =>
        {
            await Task.Delay(20);
            await context.Response.WriteAsync("ok");
        });
        await app.StartAsync();
        var client = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = 4 });
        for (int i = 0; i < 16; i++)
            keep.Add(PricesAsync(client, app.Urls.First()));
        await Task.Delay(1000);
        return new { workers = 16 };
    }

    static async Task PricesAsync(HttpClient client, string url)
    {
        for (;;)
            await client.GetStringAsync(url);
    }
}
