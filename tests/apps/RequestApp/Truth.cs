namespace Shop;

using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Reflection;
using System.Runtime;
using Checkout;

/// <summary>What one request measures around its own parts.</summary>
public sealed class Bill
{
    readonly Dictionary<string, (double Ms, double CpuMs, int Count)> parts = new();

    public static Bill Of(HttpContext context) => context.Features.Get<Bill>() ?? new Bill();

    /// <summary>A part on one thread; its CPU time is measured as well.</summary>
    public T Run<T>(string part, Func<T> body)
    {
        long from = Stopwatch.GetTimestamp(), cpu = Cpu.ThreadNs();
        try
        {
            return body();
        }
        finally
        {
            Add(part, Stopwatch.GetElapsedTime(from).TotalMilliseconds, (Cpu.ThreadNs() - cpu) / 1e6);
        }
    }

    public void Run(string part, Action body) => Run(part, () => { body(); return 0; });

    /// <summary>A part that is awaited. That the request goes on late where the pool has no thread is in it.</summary>
    public async Task<T> Await<T>(string part, Func<Task<T>> body)
    {
        long from = Stopwatch.GetTimestamp();
        try
        {
            return await body();
        }
        finally
        {
            Add(part, Stopwatch.GetElapsedTime(from).TotalMilliseconds, 0);
        }
    }

    public Task Await(string part, Func<Task> body) => Await(part, async () => { await body(); return 0; });

    public void Add(string part, double ms, double cpuMs)
    {
        lock (parts)
        {
            var (sum, cpu, count) = parts.GetValueOrDefault(part);
            parts[part] = (sum + ms, cpu + cpuMs, count + 1);
        }
    }

    public void AddTo(Dictionary<string, (double Ms, double CpuMs, int Count)> sums)
    {
        lock (parts)
            foreach (var (name, one) in parts)
            {
                var (ms, cpu, count) = sums.GetValueOrDefault(name);
                sums[name] = (ms + one.Ms, cpu + one.CpuMs, count + one.Count);
            }
    }
}

/// <summary>All requests of one endpoint.</summary>
public sealed class Row
{
    const int Fine = 64; // buckets for each power of two of microseconds: less than 1.6% apart
    readonly long[] buckets = new long[40 * Fine];
    readonly Dictionary<string, (double Ms, double CpuMs, int Count)> parts = new();
    long count, failed, canceled, inFlight;
    double sumMs, maxMs;

    public void Begin() => Interlocked.Increment(ref inFlight);

    public void End(double ms, int status, bool aborted, Bill bill)
    {
        Interlocked.Decrement(ref inFlight);
        lock (parts)
        {
            count++;
            failed += status >= 500 ? 1 : 0;
            canceled += aborted ? 1 : 0;
            sumMs += ms;
            maxMs = Math.Max(maxMs, ms);
            buckets[Bucket(ms * 1000)]++;
            bill.AddTo(parts);
        }
    }

    static int Bucket(double us) => us < 1 ? 0 : (int)(Math.Log2(us) * Fine);

    double Percentile(double percent)
    {
        double wanted = Math.Ceiling(count * percent / 100);
        for (int i = 0; i < buckets.Length; i++)
            if ((wanted -= buckets[i]) <= 0)
                return Math.Min(Math.Pow(2, (i + 0.5) / Fine) / 1000, maxMs);
        return maxMs;
    }

    public object Tell()
    {
        lock (parts)
            return new
            {
                count, failed, canceled, inFlight = Interlocked.Read(ref inFlight), sumMs, maxMs, p50Ms = Percentile(50), p95Ms = Percentile(95),
                p99Ms = Percentile(99), parts = parts.ToDictionary(p => p.Key, p => new { p.Value.Ms, p.Value.CpuMs, p.Value.Count }),
            };
    }

    /// <summary>What is in flight stays.</summary>
    public void Forget()
    {
        lock (parts)
        {
            Array.Clear(buckets);
            parts.Clear();
            count = failed = canceled = 0;
            sumMs = maxMs = 0;
        }
    }
}

/// <summary>GET /truth: what the application has measured itself, by endpoint; /truth/reset begins anew. Requests for it are not in it.</summary>
public static class Truth
{
    static readonly ConcurrentDictionary<string, Row> Rows = new();
    static readonly ConcurrentDictionary<(Endpoint?, string), Row> Known = new();
    const BindingFlags Any = BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;

    /// <summary>What the tasks' event source does at each task and await, while somebody has asked for it.</summary>
    static IEnumerable<string> TaskFlags()
    {
        var source = typeof(Task).Assembly.GetType("System.Threading.Tasks.TplEventSource")!;
        object log = source.GetField("Log", Any)!.GetValue(null)!;
        return new[] { "TasksSetActivityIds", "DebugActivityId", "Debug" }.Where(flag => (bool)source.GetField(flag, Any)!.GetValue(log)!);
    }

    static string Name(Endpoint? endpoint, string method) =>
        method + " " + (endpoint is RouteEndpoint route ? "/" + route.RoutePattern.RawText!.TrimStart('/') : "(no route)");

    static Row Of(HttpContext context) =>
        Known.GetOrAdd((context.GetEndpoint(), context.Request.Method), key => Rows.GetOrAdd(Name(key.Item1, key.Item2), _ => new Row()));

    public static void Use(WebApplication app)
    {
        app.Use(async (context, next) =>
        {
            if (context.Request.Path.StartsWithSegments("/truth"))
            {
                await next(context);
                return;
            }
            var row = Of(context);
            var bill = new Bill();
            context.Features.Set(bill);
            row.Begin();
            long from = Stopwatch.GetTimestamp();
            TimeSpan gc = GC.GetTotalPauseDuration();
            bool threw = true;
            try
            {
                await next(context);
                threw = false;
            }
            finally
            {
                double paused = (GC.GetTotalPauseDuration() - gc).TotalMilliseconds;
                if (paused > 0)
                    bill.Add("gc", paused, 0);
                int status = threw ? 500 : context.Response.StatusCode;
                row.End(Stopwatch.GetElapsedTime(from).TotalMilliseconds, status, context.RequestAborted.IsCancellationRequested, bill);
                Progress.Count();
            }
        });
    }

    public static void Map(WebApplication app)
    {
        app.MapGet("/truth", () => Results.Json(new
        {
            endpoints = Rows.ToDictionary(r => r.Key, r => r.Value.Tell()),
            gcPauseMs = GC.GetTotalPauseDuration().TotalMilliseconds,
            jitMs = JitInfo.GetCompilationTime().TotalMilliseconds,
            threads = ThreadPool.ThreadCount,
            told = EventSource.GetSources().Where(s => s.IsEnabled(EventLevel.Informational, EventKeywords.None)).Select(s => s.Name).Order(),
            listened = EventSource.GetSources().Where(s => s.IsEnabled()).Select(s => s.Name).Concat(TaskFlags()).Order(),
        }));
        app.MapGet("/truth/reset", () =>
        {
            foreach (var row in Rows.Values)
                row.Forget();
        });
    }
}
