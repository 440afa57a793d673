// A start that takes its time: it asks a database that answers late, sleeps, compiles, and only then listens. SLOW_START is "HOST:PORT[,async]".
namespace Shop;

using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;

public static class Startup
{
    public static void Run()
    {
        string[] words = (Environment.GetEnvironmentVariable("SLOW_START") ?? "").Split(',');
        if (words.Length > 1)
            RunAsync(IPEndPoint.Parse(words[0])).GetAwaiter().GetResult();
        else
            Migrations.Run(IPEndPoint.Parse(words[0]));
        Retry.Pause();
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        Checkout.Progress.Port = ((IPEndPoint)listener.LocalEndpoint).Port;
    }

    static async Task RunAsync(IPEndPoint server)
    {
        await Task.Yield();
        Migrations.Run(server); // on a worker of the pool, while the main thread waits for the task
    }
}

public static class Migrations
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run(IPEndPoint server)
    {
        using var client = new TcpClient();
        client.Connect(server);
        client.GetStream().WriteByte(1);
        client.GetStream().ReadByte();
    }
}

public static class Retry
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Pause() => Thread.Sleep(500);
}
