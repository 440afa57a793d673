namespace Shop;

using System.Buffers.Binary;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;

/// <summary>The service that others wait for: GET /wait/N is answered after N ms, and a byte by one. It has threads of its own, since what it is asked by
/// may have taken all of the pool's. By TLS it lets the client wait 40 ms for the handshake.</summary>
public static class Slow
{
    const int HandshakeMs = 40;
    public static int Port, TlsPort, BytePort, TdsPort;

    public static void Start()
    {
        Port = Listen("slow", stream => Http(stream));
        var certificate = Certificate();
        TlsPort = Listen("slow-tls", stream =>
        {
            Thread.Sleep(HandshakeMs);
            using var tls = new SslStream(stream);
            tls.AuthenticateAsServer(certificate);
            Http(tls);
        });
        BytePort = Listen("slow-byte", Bytes);
        TdsPort = Listen("slow-tds", Tds);
    }

    static X509Certificate2 Certificate()
    {
        using var key = RSA.Create(2048);
        var request = new CertificateRequest("CN=localhost", key, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1);
        using var made = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1));
#pragma warning disable SYSLIB0057 // what replaces it came with .NET 9
        return new X509Certificate2(made.Export(X509ContentType.Pfx));
#pragma warning restore SYSLIB0057
    }

    static int Listen(string name, Action<Stream> serve)
    {
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start(1024);
        Begin(name, () =>
        {
            for (; ; )
            {
                var client = listener.AcceptSocket();
                client.NoDelay = true;
                Begin(name + "-client", () => Serve(client, serve));
            }
        });
        return ((IPEndPoint)listener.LocalEndpoint).Port;
    }

    static void Begin(string name, Action body) => new Thread(() => body(), 256 * 1024) { IsBackground = true, Name = name }.UnsafeStart();

    static void Serve(Socket client, Action<Stream> serve)
    {
        try
        {
            using var stream = new NetworkStream(client, true);
            serve(stream);
        }
        catch (Exception e) when (e is IOException or SocketException or System.Security.Authentication.AuthenticationException)
        {
        }
    }

    static void Http(Stream stream)
    {
        using var reader = new StreamReader(stream);
        while (reader.ReadLine() is { } line)
        {
            while (reader.ReadLine() is { Length: > 0 })
            {
            }
            string digits = new(line.SkipWhile(c => !char.IsDigit(c)).TakeWhile(char.IsDigit).ToArray());
            Thread.Sleep(int.Parse(digits));
            stream.Write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"u8);
        }
    }

    /// <summary>As much of SQL Server as its client asks for: a command ends N ms after it came, where its text says "PAUSE N", and has no rows.</summary>
    static void Tds(Stream stream)
    {
        byte[] done = [0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        while (true)
        {
            var (type, message) = TdsMessage(stream);
            if (type == 0x12) // what follows is not encrypted
                TdsAnswer(stream, [0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF, 16, 0, 0, 0, 0, 0, 2]);
            else if (type == 0x10) // welcome
                TdsAnswer(stream, [0xAD, 12, 0, 1, 0x74, 0, 0, 4, 1, (byte)'S', 0, 16, 0, 0, 0, .. done]);
            else
            {
                string text = Encoding.Unicode.GetString(message);
                int at = text.IndexOf("PAUSE ");
                Thread.Sleep(at < 0 ? 0 : int.Parse(text.AsSpan(at + 6).TrimEnd()));
                TdsAnswer(stream, done);
            }
        }
    }

    static (byte Type, byte[] Message) TdsMessage(Stream stream)
    {
        var message = new List<byte>();
        var head = new byte[8];
        do
        {
            stream.ReadExactly(head);
            var body = new byte[BinaryPrimitives.ReadUInt16BigEndian(head.AsSpan(2)) - head.Length];
            stream.ReadExactly(body);
            message.AddRange(body);
        }
        while ((head[1] & 1) == 0);
        return (head[0], message.ToArray());
    }

    static void TdsAnswer(Stream stream, byte[] body)
    {
        byte[] packet = [4, 1, 0, (byte)(8 + body.Length), 0, 0, 1, 0, .. body];
        stream.Write(packet);
    }

    /// <summary>Answers a byte N after N ms.</summary>
    static void Bytes(Stream stream)
    {
        for (int ms; (ms = stream.ReadByte()) >= 0; stream.WriteByte((byte)ms))
            Thread.Sleep(ms);
    }

    public static readonly HttpClient Client = new(new SocketsHttpHandler { MaxConnectionsPerServer = 1000 });

    /// <summary>What is asked, with a secret that no report may have.</summary>
    public static string Url(int ms, string host = "127.0.0.1") => $"http://{host}:{Port}/wait/{ms}?sig=hunter-outgoing";

    public static Task<string> Get(int ms) => Client.GetStringAsync(Url(ms));

    static readonly HttpClient Narrow = new(new SocketsHttpHandler { MaxConnectionsPerServer = 2 });

    /// <summary>By a pool of two connections.</summary>
    public static Task<string> GetNarrow(int ms) => Narrow.GetStringAsync(Url(ms, "localhost"));

    /// <summary>A new connection for each: name, connect, TLS.</summary>
    public static async Task<string> GetAnew(string url)
    {
        using var handler = new SocketsHttpHandler();
        handler.SslOptions.RemoteCertificateValidationCallback = (_, _, _, _) => true;
        using var client = new HttpClient(handler);
        return await client.GetStringAsync(url);
    }
}
