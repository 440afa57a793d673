namespace Shop;

using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;

public static class Orders
{
    /// <summary>Nobody but this method knows the source that it waits for.</summary>
    public static async Task<int> LoadAsync(int id)
    {
        var reply = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
        int loaded = await reply.Task;
        return loaded + id;
    }

    public static async Task CloseAsync()
    {
        var closed = new TaskCompletionSource();
        await Task.Yield();
        await closed.Task;
    }

    public static async Task<int> PlaceAsync(int id)
    {
        await Task.Yield();
        return await Stock.ReserveAsync(id) + 1;
    }
}

public static class Stock
{
    public static async Task<int> ReserveAsync(int id) => await Orders.LoadAsync(id).ConfigureAwait(false) * 2;
}

public class Cache
{
    readonly SemaphoreSlim gate = new(1, 1);

    public async Task<int> GetAsync(int id)
    {
        await gate.WaitAsync();
        try
        {
            return id;
        }
        finally
        {
            gate.Release();
        }
    }

    /// <summary>Takes the semaphore, and again in GetAsync: it never comes back.</summary>
    public async Task<int> RefreshAsync(int id)
    {
        await gate.WaitAsync();
        try
        {
            return await GetAsync(id);
        }
        finally
        {
            gate.Release();
        }
    }
}

public class Rpc
{
    public readonly ConcurrentDictionary<int, TaskCompletionSource<string>> Waiting = new();

    public async Task<string> CallAsync(int id)
    {
        var reply = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        Waiting[id] = reply;
        return await reply.Task;
    }
}

public static class Pool
{
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<int> RentAsync(int id)
    {
        var given = new TaskCompletionSource<int>();
        return await given.Task + id;
    }

    public static async Task<int> UseAsync(int id) => await RentAsync(id) + 1;
}

public static class Feed
{
    public static async IAsyncEnumerable<int> ReadAsync()
    {
        yield return 1;
        var next = new TaskCompletionSource<int>();
        yield return await next.Task;
    }

    public static async Task<int> SumAsync()
    {
        int sum = 0;
        await foreach (int x in ReadAsync())
            sum += x;
        return sum;
    }
}

public static class Sick
{
    public static readonly List<Task> Keep = new();
    static readonly Cache cache = new();
    static readonly Rpc rpc = new();
    static object? held;

    static async Task<object> Settled(object details)
    {
        await Task.Delay(300);
        return details;
    }

    public static Task<object> Stuck()
    {
        for (int i = 0; i < Program.Count; i++)
            Keep.Add(Orders.LoadAsync(i));
        Keep.Add(Orders.CloseAsync());
        return Settled(new { stuck = Program.Count, other = 1 });
    }

    /// <summary>The same, with collections all the time.</summary>
    public static async Task<object> Garbage()
    {
        object details = await Stuck();
        GC.Collect();
        GC.Collect();
        new Thread(() =>
        {
            for (int i = 0;; i++)
            {
                GC.KeepAlive(new byte[50000]);
                if (i % 20 == 0)
                    Thread.Sleep(1);
            }
        }) { IsBackground = true, Name = "garbage" }.Start();
        return details;
    }

    public static Task<object> Nested()
    {
        for (int i = 0; i < 40; i++)
            Keep.Add(Orders.PlaceAsync(i));
        return Settled(new { stuck = 40 });
    }

    public static Task<object> Pending()
    {
        for (int i = 0; i < 100; i++)
            Keep.Add(rpc.CallAsync(i));
        return Settled(new { pending = 100 });
    }

    public static Task<object> Twice()
    {
        Keep.Add(cache.RefreshAsync(0));
        for (int i = 1; i < 96; i++)
            Keep.Add(cache.GetAsync(i));
        return Settled(new { waiting = 96 });
    }

    public static async Task<object> Growing()
    {
        await Twice();
        new Thread(() =>
        {
            for (int i = 0;; i++, Thread.Sleep(20))
                lock (Keep)
                    Keep.Add(cache.GetAsync(i));
        }) { IsBackground = true, Name = "arrivals" }.Start();
        return new { waiting = 96 };
    }

    public static Task<object> Http()
    {
        var listener = new TcpListener(IPAddress.Loopback, 0);
        var accepted = new List<Socket>();
        listener.Start(100);
        _ = Task.Run(async () =>
        {
            for (;;)
                accepted.Add(await listener.AcceptSocketAsync());
        });
        held = accepted;
        var client = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = 4 }) { Timeout = Timeout.InfiniteTimeSpan };
        string url = "http://127.0.0.1:" + ((IPEndPoint)listener.LocalEndpoint).Port + "/";
        for (int i = 0; i < 40; i++)
            Keep.Add(PriceAsync(client, url));
        return Settled(new { sent = 4, queued = 36 });
    }

    static async Task<string> PriceAsync(HttpClient client, string url) => await client.GetStringAsync(url);

    public static async Task<object> Faulted()
    {
        for (int i = 0; i < 200; i++)
            Keep.Add(FailAsync(i));
        await Task.Delay(300);
        return new { faulted = 200 };
    }

    static async Task FailAsync(int i)
    {
        await Task.Yield();
        throw new InvalidOperationException("order " + i);
    }

    public static async Task<object> Blocked()
    {
        for (int i = 0; i < 8; i++)
            new Thread(() => Console.WriteLine(Orders.LoadAsync(1).Result), 256 * 1024) { IsBackground = true, Name = "blocked" }.Start();
        await Task.Delay(500);
        return new { blocked = 8 };
    }

    public static Task<object> WhenAll()
    {
        for (int i = 0; i < 10; i++)
            Keep.Add(AllAsync(i));
        return Settled(new { groups = 10, stuck = 20 });
    }

    static async Task<int> AllAsync(int i)
    {
        int[] all = await Task.WhenAll(Orders.LoadAsync(i), Orders.LoadAsync(i + 1), Task.FromResult(3));
        return all.Sum();
    }

    public static Task<object> Pooled()
    {
        for (int i = 0; i < 50; i++)
            Keep.Add(Pool.UseAsync(i));
        return Settled(new { stuck = 50 });
    }

    public static Task<object> Iterator()
    {
        for (int i = 0; i < 20; i++)
            Keep.Add(Feed.SumAsync());
        return Settled(new { stuck = 20 });
    }

    public static Task<object> Lambda()
    {
        for (int i = 0; i < 30; i++)
            Keep.Add(Task.Run(async () =>
            {
                var done = new TaskCompletionSource();
                await done.Task;
            }));
        return Settled(new { stuck = 30 });
    }

    public static async Task<object> Many()
    {
        Keep.Capacity = Program.Count;
        for (int i = 0; i < Program.Count; i++)
            Keep.Add(Orders.LoadAsync(i));
        GC.Collect();
        await Task.Delay(100);
        return new { stuck = Program.Count };
    }
}
