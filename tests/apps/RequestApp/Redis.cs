namespace Shop;

using System.Runtime.CompilerServices;
using StackExchange.Redis;

/// <summary>Endpoints with a real Redis behind them. Its client tells nobody of its commands.</summary>
public static class Redis
{
    const int Lines = 800;
    static ConnectionMultiplexer connection = null!, blocked = null!;
    static volatile bool consumes;

    public static async Task Start(string place)
    {
        var options = ConfigurationOptions.Parse(place);
        options.AllowAdmin = true;
        options.AbortOnConnectFail = false;
        options.AsyncTimeout = options.SyncTimeout = 1500;
        connection = await ConnectionMultiplexer.ConnectAsync(options);
        blocked = await ConnectionMultiplexer.ConnectAsync(options); // what makes the server slow goes over a connection of its own
        await Db.StringSetAsync("cart", "4711");
        await connection.GetSubscriber().SubscribeAsync(RedisChannel.Literal("prices"), (_, _) => { });
    }

    static IDatabase Db => connection.GetDatabase();

    public static void Map(WebApplication app)
    {
        app.Get("/redis/cart/{ms}", (int ms, HttpContext c) => Cart(Bill.Of(c), ms));
        app.Get("/redis/sync/{ms}", (int ms, HttpContext c) => CartSync(Bill.Of(c), ms));
        app.Get("/redis/lines", (HttpContext c) => Basket(Bill.Of(c)));
        app.Get("/redis/fast", async (HttpContext c) => await Bill.Of(c).Await("redis", () => Db.StringGetAsync("cart")));
        app.Get("/redis/beside/{ms}", (int ms, HttpContext c) => Beside(Bill.Of(c), ms));
        app.MapGet("/redis/consume/{on}", (bool on) => { if (consumes = on) _ = Consume(); });
        app.Get("/redis/fails", (HttpContext c) => Fails(Bill.Of(c)));
    }

    /// <summary>Redis does one thing after the other: a command of somebody else keeps all others waiting.</summary>
    static void Block(int ms)
    {
        if (ms > 0)
            _ = blocked.GetDatabase().ExecuteAsync("DEBUG", "SLEEP", FormattableString.Invariant($"{ms / 1000.0}")).ContinueWith(t => t.Exception);
    }

    static async Task<string> Cart(Bill bill, int ms)
    {
        Block(ms);
        await bill.Await("timer", () => Task.Delay(5)); // the server has it
        return (await bill.Await("redis", () => Db.StringGetAsync("cart"))).ToString();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static string CartSync(Bill bill, int ms)
    {
        Block(ms);
        Thread.Sleep(5);
        return bill.Run("redis", () => Db.StringGet("cart")).ToString();
    }

    /// <summary>A quick command, and a timer of the application's own.</summary>
    static async Task<string> Beside(Bill bill, int ms)
    {
        string cart = (await bill.Await("redis", () => Db.StringGetAsync("cart"))).ToString();
        await bill.Await("timer", () => Task.Delay(ms));
        return cart;
    }

    /// <summary>A consumer in the background: it asks for messages, is told after 90 ms that there are none, and asks again.</summary>
    static async Task Consume()
    {
        while (consumes)
        {
            await blocked.GetDatabase().ExecuteAsync("XREAD", "BLOCK", "90", "STREAMS", "events", "$");
            await Task.Delay(10);
        }
    }

    /// <summary>N + 1: a command for each line.</summary>
    static async Task<int> Basket(Bill bill)
    {
        int length = 0;
        for (int i = 0; i < Lines; i++)
            length += (await bill.Await("redis", () => Db.StringGetAsync("cart"))).ToString().Length;
        return length;
    }

    static async Task<string> Fails(Bill bill)
    {
        try
        {
            return (await bill.Await("redis", () => Db.StringGetAsync("cart"))).ToString();
        }
        catch (RedisException e)
        {
            return e.GetType().Name;
        }
        catch (TimeoutException e)
        {
            return e.GetType().Name;
        }
    }
}
