namespace Shop.Hosting;

using System.Runtime.CompilerServices;
using Grpc.Core;
using Grpc.Net.Client;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Data.Sqlite;
using Shop.Calls;

/// <summary>A database in a file of its own.</summary>
public static class Ledger
{
    static readonly string Place = "Data Source=" + Path.Combine(Directory.CreateTempSubdirectory("ledger-").FullName, "ledger.db");

    public static SqliteConnection Open()
    {
        var connection = new SqliteConnection(Place);
        connection.Open();
        return connection;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Execute(SqliteConnection connection, string text)
    {
        using var command = connection.CreateCommand();
        command.CommandText = text;
        return command.ExecuteNonQuery();
    }

    public static void Make(string more = "")
    {
        using var connection = Open();
        Execute(connection, "CREATE TABLE entries(id INTEGER PRIMARY KEY, amount INTEGER); INSERT INTO entries VALUES (1, 7);" + more);
    }
}

/// <summary>A service of gRPC on loopback, and clients of it.</summary>
public static class Rpc
{
    public sealed class Service(Func<int> price) : Prices.PricesBase
    {
        public override Task<Price> Get(Ask request, ServerCallContext context) => Task.FromResult(new Price { Value = price() });

        public override async Task Watch(Ask request, IServerStreamWriter<Price> stream, ServerCallContext context)
        {
            await stream.WriteAsync(new Price { Value = price() });
            await Task.Delay(Timeout.Infinite, context.CancellationToken).ContinueWith(_ => { });
        }
    }

    public static async Task Serve(Func<int> price, int clients, int restMs, int watches)
    {
        await Web.Serve(services =>
        {
            services.Configure<KestrelServerOptions>(kestrel => kestrel.ConfigureEndpointDefaults(on => on.Protocols = HttpProtocols.Http2));
            services.AddSingleton(price);
            services.AddGrpc();
        }, app => app.MapGrpcService<Service>(), "/", 0, 0);
        var client = new Prices.PricesClient(GrpcChannel.ForAddress($"http://127.0.0.1:{Web.Port}"));
        for (int i = 0; i < clients; i++)
            _ = Task.Run(() => Ask(client, restMs));
        for (int i = 0; i < watches; i++)
            _ = Task.Run(() => Watch(client));
    }

    static async Task Ask(Prices.PricesClient client, int restMs)
    {
        while (true)
        {
            await client.GetAsync(new Ask());
            await Task.Delay(restMs);
        }
    }

    /// <summary>One that is never answered again, and a new one each second, which is given up after a while.</summary>
    static async Task Watch(Prices.PricesClient client)
    {
        using var kept = client.Watch(new Ask());
        while (true)
        {
            using var watch = client.Watch(new Ask());
            await watch.ResponseStream.MoveNext();
            await Task.Delay(30_000);
        }
    }
}
