namespace Shop.Hosting;

using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Text;

/// <summary>A service elsewhere, in a process of its own: what it does is not seen in the one that asks. A request names the milliseconds that its
/// answer takes, as HTTP ("GET /40 HTTP/1.1") or as a line ("40"); one that names none is never answered, and the line "-" neither, which keeps no other
/// waiting. It ends with the process that began it.</summary>
public static class Elsewhere
{
    public const string Word = "elsewhere";

    static readonly List<Process> Started = new(); // a collection would close their input, and so end them

    /// <summary>The port at which it answers.</summary>
    public static int Start()
    {
        var start = new ProcessStartInfo(Environment.ProcessPath!, Word) { RedirectStandardInput = true, RedirectStandardOutput = true };
        var process = Process.Start(start)!;
        Started.Add(process);
        return int.Parse(process.StandardOutput.ReadLine()!);
    }

    public static void Run()
    {
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start(1024);
        Console.WriteLine(((IPEndPoint)listener.LocalEndpoint).Port);
        _ = Accept(listener);
        Console.OpenStandardInput().CopyTo(Stream.Null); // until the other one is gone
    }

    static async Task Accept(TcpListener listener)
    {
        while (true)
            _ = Answer(await listener.AcceptTcpClientAsync());
    }

    static async Task Answer(TcpClient client)
    {
        client.NoDelay = true;
        using var stream = client.GetStream();
        using var reader = new StreamReader(stream, Encoding.ASCII);
        while (await reader.ReadLineAsync() is { } line)
        {
            if (line == "-")
                continue;
            bool http = line.Contains("HTTP/");
            while (http && await reader.ReadLineAsync() is { Length: > 0 })
            {
            }
            string asked = http ? line.Split(' ')[1].Trim('/') : line;
            await Task.Delay(int.TryParse(asked, out int ms) ? ms : Timeout.Infinite);
            await stream.WriteAsync(Encoding.ASCII.GetBytes(http ? "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1" : "1\n"));
        }
    }
}

/// <summary>A client of such a service, as those of caches are: one connection for all, which is asked by lines, and answers in their order. It tells nobody
/// of what it does.</summary>
public sealed class LineClient
{
    readonly Socket socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
    readonly Queue<TaskCompletionSource> asked = new();

    public LineClient(int port)
    {
        socket.Connect(IPAddress.Loopback, port);
        _ = Task.Run(Read);
    }

    async Task Read()
    {
        var bytes = new byte[4096];
        for (int n; (n = await socket.ReceiveAsync(bytes)) > 0;)
            foreach (byte b in bytes.AsSpan(0, n).ToArray())
                if (b == '\n')
                    lock (asked)
                        asked.Dequeue().SetResult();
    }

    /// <summary>Until it has answered, which it does after so long.</summary>
    public Task Ask(int ms)
    {
        var answer = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        lock (asked)
        {
            asked.Enqueue(answer);
            socket.Send(Encoding.ASCII.GetBytes(ms + "\n"));
        }
        return answer.Task;
    }

    /// <summary>What is not answered.</summary>
    public void Tell()
    {
        lock (asked)
            socket.Send("-\n"u8);
    }
}
