namespace Shop;

using System.Collections.Concurrent;
using System.Diagnostics;
using System.Linq.Expressions;
using System.Net;
using System.Net.Sockets;
using System.Runtime;
using System.Runtime.CompilerServices;
using Checkout;

/// <summary>Endpoints that are slow, each for one reason, and some for several.</summary>
public static class Sick
{
    public static void Map(WebApplication app)
    {
        app.Get("/sqlite/{id}", (int id, HttpContext c) => Sqlite.Orders(Bill.Of(c), id));
        app.Get("/sqlite/report/{thousands}", (int thousands, HttpContext c) => Sqlite.Report(Bill.Of(c), thousands));
        app.Get("/sqlite/log/{count}", (int count, HttpContext c) => Sqlite.Log(Bill.Of(c), count));
        app.Get("/sqlite/sell/{ms}", (int ms, HttpContext c) => Sqlite.Sell(Bill.Of(c), ms));
        app.Get("/ef/{id}", (int id, HttpContext c) => Store.Orders(Bill.Of(c), id));
        app.Get("/sqlserver/{ms}", (int ms, HttpContext c) => SqlServer.Report(Bill.Of(c), ms));
        app.Get("/narrow/{ms}", (int ms, HttpContext c) => Bill.Of(c).Await("http", () => Slow.GetNarrow(ms)));
        app.Get("/http/{ms}", (int ms, HttpContext c) => Bill.Of(c).Await("http", () => Slow.Get(ms)));
        app.Get("/dns/{host}", (string host, HttpContext c) => Bill.Of(c).Await("http", () => Slow.GetAnew(Slow.Url(1, host))));
        app.Get("/tls", (HttpContext c) => Bill.Of(c).Await("http", () => Slow.GetAnew($"https://localhost:{Slow.TlsPort}/wait/1")));
        app.Get("/blocked/{ms}", (int ms, HttpContext c) => Bill.Of(c).Run("blocked", () => Prices.Get(ms)));
        app.Get("/lock/{ms}", (int ms, HttpContext c) => Warehouse.Reserve(Bill.Of(c), ms));
        app.Get("/gc/{mb}", (int mb, HttpContext c) => Bill.Of(c).Run("code", () => Exports.Render(mb)));
        app.Get("/cpu/{ms}", (int ms, HttpContext c) => Bill.Of(c).Run("code", () => Pricing.Compute(ms)));
        app.Get("/burst/{ms}", Burst);
        app.Get("/big/{mb}", Big);
        app.Get("/first/{n}", (string n, HttpContext c) => Cold.Start(Bill.Of(c), n));
        app.Get("/delay/{ms}", async (int ms, HttpContext c) => await Bill.Of(c).Await("timer", () => Task.Delay(ms)));
        app.Get("/semaphore/{ms}", Semaphore);
        app.Get("/sleep/{ms}", (int ms, HttpContext c) => Bill.Of(c).Run("sleep", () => Thread.Sleep(ms)));
        app.Get("/io/{ms}", (byte ms, HttpContext c) => Bill.Of(c).Run("io", () => Terminal.Ask(ms)));
        app.Get("/mixed/one", MixedOne);
        app.Get("/mixed/two", MixedTwo);
        app.Get("/mixed/three", MixedThree);
        app.Get("/hang", async (HttpContext c) => await Never.Task);
    }

    static readonly TaskCompletionSource Never = new();
    static readonly SemaphoreSlim Gate = new(1);

    /// <summary>Goes on by the pool, where a burst of these has taken each thread.</summary>
    static async Task<int> Burst(int ms, HttpContext context)
    {
        var bill = Bill.Of(context);
        long from = Stopwatch.GetTimestamp();
        await Task.Yield();
        bill.Add("pool", Stopwatch.GetElapsedTime(from).TotalMilliseconds, 0);
        bill.Run("sleep", () => Thread.Sleep(ms));
        return ms;
    }

    static readonly byte[] Block = new byte[64 * 1024];

    static async Task Big(int mb, HttpContext context)
    {
        context.Response.ContentLength = (long)mb << 20;
        await Bill.Of(context).Await("body", async () =>
        {
            for (long left = (long)mb << 20; left > 0; left -= Block.Length)
                await context.Response.Body.WriteAsync(Block);
        });
    }

    static async Task<int> Semaphore(int ms, HttpContext context)
    {
        var bill = Bill.Of(context);
        await bill.Await("semaphore", () => Gate.WaitAsync());
        try
        {
            await bill.Await("timer", () => Task.Delay(ms));
        }
        finally
        {
            Gate.Release();
        }
        return ms;
    }

    /// <summary>CPU, a dependency, a timer.</summary>
    static async Task<double> MixedOne(HttpContext context)
    {
        var bill = Bill.Of(context);
        double sum = bill.Run("code", () => Pricing.Compute(10));
        for (int i = 0; i < 4; i++)
            await bill.Await("http", () => Slow.Get(10));
        await bill.Await("timer", () => Task.Delay(20));
        return sum;
    }

    /// <summary>A dependency, a lock, CPU.</summary>
    static async Task<double> MixedTwo(HttpContext context)
    {
        var bill = Bill.Of(context);
        await bill.Await("http", () => Slow.Get(40));
        Warehouse.Reserve(bill, 5);
        return bill.Run("code", () => Pricing.Compute(10));
    }

    /// <summary>Synchronous I/O, a task that is waited for, a database in the process.</summary>
    static double MixedThree(HttpContext context)
    {
        var bill = Bill.Of(context);
        bill.Run("io", () => Terminal.Ask(20));
        bill.Run("blocked", () => Prices.Get(20));
        return Sqlite.Orders(bill, 7);
    }
}

public static class Prices
{
    static async Task<string> GetAsync(int ms)
    {
        string price = await Slow.Get(ms);
        return price;
    }

    /// <summary>Synchronous over asynchronous.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static string Get(int ms) => GetAsync(ms).Result;
}

public static class Warehouse
{
    static readonly object Stock = new();

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Reserve(Bill bill, int ms)
    {
        long from = Stopwatch.GetTimestamp();
        lock (Stock)
        {
            bill.Add("lock", Stopwatch.GetElapsedTime(from).TotalMilliseconds, 0);
            bill.Run("sleep", () => Thread.Sleep(ms));
        }
        return ms;
    }
}

public static class Pricing
{
    /// <summary>So many ms of CPU time of this thread.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static double Compute(int ms)
    {
        double sum = 0;
        for (long until = Cpu.ThreadNs() + ms * 1_000_000L; Cpu.ThreadNs() < until;)
            sum += Discount(2000);
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static double Discount(int rounds)
    {
        double sum = 0;
        for (int i = 1; i <= rounds; i++)
            sum += Math.Sqrt(i) / (i + sum);
        return sum;
    }
}

public static class Exports
{
    sealed class Line(Line? next, int number)
    {
        public readonly Line? Next = next;
        public readonly int Number = number;
    }

    /// <summary>A list of so many MB that lives until its end: each collection marks and moves it.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Render(int mb)
    {
        Line? last = null;
        for (int i = 0; i < mb * (1 << 20) / 32; i++)
            last = new Line(last, i);
        int sum = 0;
        for (; last != null; last = last.Next)
            sum += last.Number;
        return sum;
    }
}

public static class Terminal
{
    static readonly ConcurrentBag<NetworkStream> Idle = new();

    static NetworkStream Connect()
    {
        var client = new TcpClient { NoDelay = true };
        client.Connect(IPAddress.Loopback, Slow.BytePort);
        return client.GetStream();
    }

    /// <summary>A blocking read of a socket.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Ask(byte ms)
    {
        if (!Idle.TryTake(out var line))
            line = Connect();
        line.WriteByte(ms);
        int answer = line.ReadByte();
        Idle.Add(line);
        return answer;
    }
}

public static class Cold
{
    static readonly ConcurrentDictionary<string, Func<int, int>> Rules = new();

    static Func<int, int> Compile()
    {
        var x = Expression.Parameter(typeof(int));
        Expression body = x;
        for (int i = 0; i < 3000; i++)
            body = Expression.Add(Expression.Multiply(body, Expression.Constant(i)), Expression.Condition(
                Expression.GreaterThan(x, Expression.Constant(i)), x, Expression.Constant(i * 7)));
        return Expression.Lambda<Func<int, int>>(body, x).Compile();
    }

    /// <summary>The first request of each name has its code compiled.</summary>
    public static int Start(Bill bill, string name)
    {
        TimeSpan jit = JitInfo.GetCompilationTime(true);
        int answer = Rules.GetOrAdd(name, _ => Compile())(3);
        bill.Add("jit", (JitInfo.GetCompilationTime(true) - jit).TotalMilliseconds, 0);
        return answer;
    }
}
