namespace Shop;

using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Threading.Channels;

public static class Healthy
{
    static readonly List<Task> keep = new();
    static readonly List<object> held = new();

    static async Task<object> Settled(object details)
    {
        await Task.Delay(300);
        return details;
    }

    public static Task<object> Idle() => Settled(new { });

    public static Task<object> Polls()
    {
        for (int i = 0; i < 5000; i++)
            keep.Add(PollAsync());
        return Settled(new { polls = 5000 });
    }

    static async Task PollAsync()
    {
        for (;;)
            await Task.Delay(TimeSpan.FromSeconds(60));
    }

    public static async Task<object> Delays()
    {
        for (int i = 0; i < Program.Count; i++)
            keep.Add(PollAsync());
        GC.Collect();
        await Task.Delay(100);
        return new { polls = Program.Count };
    }

    public static Task<object> Channels()
    {
        for (int i = 0; i < 500; i++)
        {
            var channel = i % 2 == 0 ? Channel.CreateUnbounded<int>() : Channel.CreateBounded<int>(10);
            held.Add(channel);
            keep.Add(ConsumeAsync(channel.Reader));
        }
        return Settled(new { consumers = 500 });
    }

    static async Task ConsumeAsync(ChannelReader<int> reader)
    {
        await foreach (int _ in reader.ReadAllAsync())
            await Task.Yield();
    }

    public static Task<object> Periodic()
    {
        for (int i = 0; i < 50; i++)
            keep.Add(ServiceAsync());
        return Settled(new { services = 50 });
    }

    static async Task ServiceAsync()
    {
        using var timer = new PeriodicTimer(TimeSpan.FromSeconds(30));
        while (await timer.WaitForNextTickAsync())
            await Task.Yield();
    }

    static async Task<string> ServerAsync(RequestDelegate handler)
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        var app = builder.Build();
        app.Map("/{*path}", handler);
        await app.StartAsync();
        held.Add(app);
        return app.Urls.First();
    }

    public static async Task<object> KeepAlive()
    {
        string url = await ServerAsync(async context => await context.Response.WriteAsync("ok"));
        var uri = new Uri(url);
        for (int i = 0; i < 100; i++)
        {
            var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            await socket.ConnectAsync(IPAddress.Loopback, uri.Port);
            await socket.SendAsync("GET / HTTP/1.1\r\nHost: x\r\n\r\n"u8.ToArray());
            await socket.ReceiveAsync(new byte[4096]);
            held.Add(socket);
        }
        return new { connections = 100 };
    }

    public static Task<object> Streams()
    {
        for (int i = 0; i < 100; i++)
            keep.Add(WatchAsync());
        return Settled(new { streams = 100 });
    }

    static async IAsyncEnumerable<int> TicksAsync()
    {
        for (int i = 0;; i++)
        {
            await Task.Delay(250);
            yield return i;
        }
    }

    static async Task WatchAsync()
    {
        await foreach (int _ in TicksAsync())
            await Task.Yield();
    }

    public static Task<object> Moving()
    {
        for (int i = 0; i < 20; i++)
            keep.Add(AllAsync());
        return Settled(new { groups = 20 });
    }

    static async Task AllAsync()
    {
        for (;;)
            await Task.WhenAll(Enumerable.Range(0, 20).Select(StepAsync));
    }

    static async Task StepAsync(int i)
    {
        await Task.Delay(100 + i * 10);
        await Task.Delay(50);
    }

    public static async Task<object> Downloads()
    {
        string url = await ServerAsync(async context =>
        {
            for (int i = 0; i < 100000; i++)
            {
                await context.Response.Body.WriteAsync(new byte[100]);
                await context.Response.Body.FlushAsync();
                await Task.Delay(200);
            }
        });
        var client = new HttpClient { Timeout = Timeout.InfiniteTimeSpan };
        for (int i = 0; i < 30; i++)
            keep.Add(DownloadAsync(client, url));
        await Task.Delay(1000);
        return new { downloads = 30 };
    }

    static async Task DownloadAsync(HttpClient client, string url)
    {
        using var stream = await client.GetStreamAsync(url);
        var buffer = new byte[1000];
        while (await stream.ReadAsync(buffer) > 0)
            await Task.Yield();
    }

    /// <summary>Workers of a queue: the semaphore counts what there is to do, and there is nothing.</summary>
    public static Task<object> Signal()
    {
        var signal = new SemaphoreSlim(0);
        held.Add(signal);
        for (int i = 0; i < 16; i++)
            keep.Add(WorkAsync(signal));
        return Settled(new { workers = 16 });
    }

    static async Task WorkAsync(SemaphoreSlim signal)
    {
        for (;;)
            await signal.WaitAsync();
    }

    /// <summary>A hundred behind four places that move.</summary>
    public static Task<object> Gate()
    {
        var gate = new SemaphoreSlim(4, 4);
        for (int i = 0; i < 100; i++)
            keep.Add(PassAsync(gate));
        return Settled(new { through = 4, waiting = 96 });
    }

    static async Task PassAsync(SemaphoreSlim gate)
    {
        for (;;)
        {
            await gate.WaitAsync();
            await Task.Delay(20);
            gate.Release();
        }
    }

    /// <summary>Requests whose replies come after a second or so.</summary>
    public static Task<object> Replies()
    {
        var rpc = new Rpc();
        held.Add(rpc);
        int next = 0;
        for (int i = 0; i < 200; i++)
            keep.Add(CallAsync(rpc, () => Interlocked.Increment(ref next)));
        new Thread(() =>
        {
            for (;; Thread.Sleep(1))
                foreach (var one in rpc.Waiting)
                    if (Random.Shared.Next(500) == 0 && rpc.Waiting.TryRemove(one.Key, out var reply))
                        reply.SetResult("done");
        }) { IsBackground = true, Name = "replies" }.Start();
        return Settled(new { calls = 200 });
    }

    static async Task CallAsync(Rpc rpc, Func<int> next)
    {
        for (;;)
            await rpc.CallAsync(next());
    }

    public static Task<object> Accept()
    {
        for (int i = 0; i < 20; i++)
        {
            var listener = new TcpListener(IPAddress.Loopback, 0);
            listener.Start();
            held.Add(listener);
            keep.Add(AcceptAsync(listener));
        }
        return Settled(new { listeners = 20 });
    }

    static async Task AcceptAsync(TcpListener listener)
    {
        for (;;)
            (await listener.AcceptSocketAsync()).Dispose();
    }

    /// <summary>Failures that somebody looked at.</summary>
    public static async Task<object> Observed()
    {
        for (int i = 0; i < 200; i++)
        {
            var failed = FailAsync();
            keep.Add(failed);
            try
            {
                await failed;
            }
            catch (InvalidOperationException)
            {
            }
        }
        return new { observed = 200 };
    }

    static async Task FailAsync()
    {
        await Task.Yield();
        throw new InvalidOperationException("seen");
    }

    /// <summary>Operations that were given up after a time: nothing refers to them any more, and they are garbage until it is collected.</summary>
    public static async Task<object> GivenUp()
    {
        for (int i = 0; i < 200; i++)
            await AnswerOrTimeoutAsync();
        return await Settled(new { givenUp = 200 });
    }

    static async Task<bool> AnswerOrTimeoutAsync()
    {
        Task answer = AnswerAsync();
        return await Task.WhenAny(answer, Task.Delay(1)) == answer;
    }

    static async Task AnswerAsync()
    {
        var answer = new TaskCompletionSource();
        await answer.Task;
    }

    /// <summary>New operations all the time, each of which ends soon, and garbage.</summary>
    public static Task<object> Churn()
    {
        for (int i = 0; i < 50; i++)
            keep.Add(ChurnAsync());
        return Settled(new { loops = 50 });
    }

    static async Task ChurnAsync()
    {
        for (;;)
        {
            held.GetHashCode();
            await BriefAsync(new byte[10000]);
        }
    }

    static async Task BriefAsync(byte[] garbage)
    {
        await Task.Delay(10);
        GC.KeepAlive(garbage);
    }
}
