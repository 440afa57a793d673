namespace Shop;

using System.Net.WebSockets;
using Microsoft.AspNetCore.Mvc;
using Microsoft.AspNetCore.SignalR;

/// <summary>Endpoints that are as they should be, though some look ill.</summary>
public static class Healthy
{
    static TaskCompletionSource released = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public static void Map(WebApplication app)
    {
        app.Use(async (context, next) =>
        {
            if (context.Request.Path.StartsWithSegments("/early"))
            {
                context.Response.StatusCode = 401;
                return;
            }
            if (context.Request.Path.StartsWithSegments("/any")) // a path for each customer, and no route
            {
                await context.Response.WriteAsync("any");
                return;
            }
            try
            {
                await next(context);
            }
            catch (OrderException) when (!context.Response.HasStarted)
            {
                context.Response.StatusCode = 500;
            }
        });
        app.UseWebSockets();
        app.MapControllers();
        app.MapHub<Chat>("/chat");
        app.Get("/fast", () => "fast");
        app.Get("/items/{id}", (int id) => id);
        app.MapPost("/items", async (HttpContext c) => { await c.Request.Body.CopyToAsync(Stream.Null); return "made"; });
        app.Get("/poll", Poll);
        app.Get("/release", () => Interlocked.Exchange(ref released, new(TaskCreationOptions.RunContinuationsAsynchronously)).SetResult());
        app.Get("/sse/{count}", Events);
        app.MapGrpcService<Calls.PricesService>();
        app.Get("/socket", Socket);
        app.Get("/background", () => { _ = Task.Run(Background); return "later"; });
        app.Get("/configure/{ms}", Configure);
        app.Get("/fanout", FanOut);
        app.Get("/parallel", Parallel);
        app.Get("/throws", void () => throw new OrderException());
        app.Get("/unhandled", void () => throw new InvalidOperationException("hunter-message"));
        app.Get("/cancel", Cancel);
    }

    static async Task Poll(HttpContext context)
    {
        try
        {
            await Bill.Of(context).Await("poll", () => released.Task.WaitAsync(TimeSpan.FromMinutes(10), context.RequestAborted));
        }
        catch (OperationCanceledException)
        {
        }
    }

    static async Task Events(int count, HttpContext context)
    {
        context.Response.ContentType = "text/event-stream";
        for (int i = 0; i < count && !context.RequestAborted.IsCancellationRequested; i++)
        {
            await context.Response.WriteAsync($"data: {i}\n\n");
            await context.Response.Body.FlushAsync();
            await Bill.Of(context).Await("timer", () => Task.Delay(100));
        }
    }

    static async Task Socket(HttpContext context)
    {
        if (!context.WebSockets.IsWebSocketRequest)
        {
            context.Response.StatusCode = 400;
            return;
        }
        using var socket = await context.WebSockets.AcceptWebSocketAsync();
        var page = new byte[1024];
        while ((await socket.ReceiveAsync(page, CancellationToken.None)).MessageType != WebSocketMessageType.Close)
            await socket.SendAsync(new byte[] { 1 }, WebSocketMessageType.Binary, true, CancellationToken.None);
    }

    /// <summary>Goes on when its request has long been answered.</summary>
    static async Task Background()
    {
        await Task.Delay(100);
        Pricing.Compute(30);
    }

    static async Task<int> Configure(int ms, HttpContext context)
    {
        await Bill.Of(context).Await("timer", async () =>
        {
            await Task.Delay(ms / 2).ConfigureAwait(false);
            await Task.Delay(ms / 2).ConfigureAwait(false);
        }).ConfigureAwait(false);
        return ms;
    }

    static async Task<double> FanOut(HttpContext context)
    {
        double[] sums = await Bill.Of(context).Await("fanout", () => Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(() => Pricing.Compute(5)))));
        return sums.Sum();
    }

    /// <summary>Three at once: the longest of them is what it takes.</summary>
    static async Task<int> Parallel(HttpContext context)
    {
        await Bill.Of(context).Await("parallel", () => Task.WhenAll(Slow.Get(40), Slow.Get(30), Task.Delay(20)));
        return 3;
    }

    static async Task Cancel(HttpContext context)
    {
        try
        {
            await Bill.Of(context).Await("timer", () => Task.Delay(60_000, context.RequestAborted));
        }
        catch (OperationCanceledException)
        {
        }
    }
}

public sealed class OrderException : Exception;

public sealed class Chat : Hub
{
    public string Say(string text) => text;
}

[ApiController]
[Route("api/products")]
public sealed class ProductsController : ControllerBase
{
    [HttpGet("{id:int}")]
    public ActionResult<int> Get(int id) => id;

    [HttpGet("{id:int}/reviews")]
    public async Task<ActionResult<int>> Reviews(int id)
    {
        await Bill.Of(HttpContext).Await("timer", () => Task.Delay(20));
        return id;
    }
}
