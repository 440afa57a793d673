namespace Shop.Hosting;

using System.Net;
using System.Net.Sockets;
using System.Text.Json;

/// <summary>What every service has running beside its work.</summary>
public static class Background
{
    sealed record Beat(DateTime At, int Threads, long Collections);

    static Beat? last;

    public static void Start()
    {
        Service.Every("heartbeat", 500, () => last = new Beat(DateTime.UtcNow, ThreadPool.ThreadCount, GC.CollectionCount(0)));
        Service.Every("metrics-push", 1000, () => GC.KeepAlive(JsonSerializer.Serialize(last)));
    }
}

/// <summary>Threads and loops with names.</summary>
public static class Service
{
    /// <summary>A thread that does the work again and again, with a rest in between.</summary>
    public static void Every(string name, int restMs, Action work) => Thread(name, () =>
    {
        while (true)
        {
            work();
            if (restMs > 0)
                System.Threading.Thread.Sleep(restMs);
        }
    });

    public static void Thread(string name, Action body) => new Thread(() => body()) { IsBackground = true, Name = name }.Start();

    /// <summary>So many requests a second, begun on the thread pool whether the earlier ones have ended or not.</summary>
    public static void Requests(int perSecond, Func<int, Task> request) => _ = Arrivals(perSecond, request);

    static async Task Arrivals(int perSecond, Func<int, Task> request)
    {
        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(20));
        int number = 0;
        double due = 0;
        while (await timer.WaitForNextTickAsync())
            for (due += perSecond / 50.0; due >= 1; due--)
                _ = request(number++);
    }
}

/// <summary>An ASP.NET service on loopback with clients of its own.</summary>
public static class Web
{
    public static int Port { get; private set; }

    public static Task Serve(Action<WebApplication> map, string path, int clients = 2, int restMs = 0) => Serve(_ => { }, map, path, clients, restMs);

    public static async Task Serve(Action<IServiceCollection> services, Action<WebApplication> map, string path, int clients, int restMs)
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        services(builder.Services);
        var app = builder.Build();
        map(app);
        await app.StartAsync();
        Port = new Uri(app.Urls.First()).Port;
        for (int i = 0; i < clients; i++)
            _ = Task.Run(() => Client($"http://127.0.0.1:{Port}{path}", restMs));
    }

    static async Task Client(string url, int restMs)
    {
        using var http = new HttpClient { Timeout = TimeSpan.FromMinutes(10) };
        while (true)
        {
            try
            {
                await http.GetStringAsync(url);
            }
            catch (HttpRequestException)
            {
                await Task.Delay(100);
            }
            if (restMs > 0)
                await Task.Delay(restMs);
        }
    }

    /// <summary>A client at an address of loopback of its own.</summary>
    public static HttpClient From(string address, int buffer = 0) => new(new SocketsHttpHandler
    {
        ConnectCallback = async (context, stop) =>
        {
            var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
            if (buffer > 0)
                socket.ReceiveBufferSize = buffer;
            socket.Bind(new IPEndPoint(IPAddress.Parse(address), 0));
            await socket.ConnectAsync(context.DnsEndPoint, stop);
            return new NetworkStream(socket, true);
        },
    });

    /// <summary>Asks again and again.</summary>
    public static async Task Ask(HttpClient http, string path, int restMs)
    {
        while (true)
        {
            await http.GetStringAsync($"http://127.0.0.1:{Port}{path}");
            await Task.Delay(restMs);
        }
    }
}
