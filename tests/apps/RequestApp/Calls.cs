namespace Shop.Calls;

using System.Net;
using Grpc.Core;
using Grpc.Net.Client;

/// <summary>A service of gRPC: of each kind of call one.</summary>
public sealed class PricesService : Prices.PricesBase
{
    public override async Task<Price> Get(Ask request, ServerCallContext context)
    {
        await Bill.Of(context.GetHttpContext()).Await("timer", () => Task.Delay(request.Ms));
        return new Price { Value = request.Ms };
    }

    public override async Task Watch(Ask request, IServerStreamWriter<Price> stream, ServerCallContext context)
    {
        if (request.Count < 0) // nothing happens, and nothing is sent
            await Task.Delay(Timeout.Infinite, context.CancellationToken).ContinueWith(_ => { });
        for (int i = 0; i < request.Count; i++)
        {
            await stream.WriteAsync(new Price { Value = i });
            await Task.Delay(request.Ms);
        }
    }

    public override async Task<Price> Sum(IAsyncStreamReader<Ask> asked, ServerCallContext context)
    {
        int sum = 0;
        await foreach (var ask in asked.ReadAllAsync())
            sum += ask.Ms;
        return new Price { Value = sum };
    }

    public override async Task Talk(IAsyncStreamReader<Ask> asked, IServerStreamWriter<Price> stream, ServerCallContext context)
    {
        await foreach (var ask in asked.ReadAllAsync())
            await stream.WriteAsync(new Price { Value = ask.Ms });
    }
}

/// <summary>A client of it, in a process of its own: `RequestApp call PORT get|watch|sum|talk TIMES MS` asks so often, one after the other; `hold` opens one
/// watch and one talk, says so, and goes when its input ends.</summary>
public static class Caller
{
    const int Messages = 3;

    public static async Task<int> Run(string[] args)
    {
        using var channel = GrpcChannel.ForAddress($"http://127.0.0.1:{args[1]}");
        var client = new Prices.PricesClient(channel);
        if (args[2] == "hold")
            await Hold(client);
        else
            for (int i = 0; i < int.Parse(args[3]); i++)
                await Once(client, args[2], int.Parse(args[4]));
        return 0;
    }

    static async Task Once(Prices.PricesClient client, string what, int ms)
    {
        switch (what)
        {
            case "get":
                await client.GetAsync(new Ask { Ms = ms });
                break;
            case "watch":
                using (var watch = client.Watch(new Ask { Ms = ms, Count = Messages }))
                    await foreach (var _ in watch.ResponseStream.ReadAllAsync())
                    {
                    }
                break;
            case "sum":
                using (var sum = client.Sum())
                {
                    await Send(sum.RequestStream, ms);
                    await sum;
                }
                break;
            default:
                using (var talk = client.Talk())
                {
                    await Send(talk.RequestStream, ms);
                    while (await talk.ResponseStream.MoveNext())
                    {
                    }
                }
                break;
        }
    }

    static async Task Send(IClientStreamWriter<Ask> stream, int ms)
    {
        for (int i = 0; i < Messages; i++)
        {
            await stream.WriteAsync(new Ask { Ms = ms });
            await Task.Delay(ms);
        }
        await stream.CompleteAsync();
    }

    static async Task Hold(Prices.PricesClient client)
    {
        using var watch = client.Watch(new Ask { Count = -1 });
        using var talk = client.Talk();
        await talk.RequestStream.WriteAsync(new Ask());
        await talk.ResponseStream.MoveNext();
        Console.WriteLine("open");
        Console.ReadLine();
    }
}
