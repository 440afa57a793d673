namespace Checkout;

using System.Collections.Concurrent;
using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Text.Json;

/// <summary>One place that burns CPU, with the CPU time that its callers measured around it: the truth that a profile is
/// held against.</summary>
public sealed class Meter
{
    public static readonly ConcurrentDictionary<string, Meter> All = new();

    long cpuNs;
    public long CpuNs => Interlocked.Read(ref cpuNs);

    public static Meter Named(string place) => All.GetOrAdd(place, _ => new Meter());

    public void Since(long startNs) => Interlocked.Add(ref cpuNs, Cpu.ThreadNs() - startNs);
}

public static class Cpu
{
    struct Timespec
    {
        public long Sec, Nsec;
    }

    const int ThreadCpuTimeId = 3;

    [DllImport("libc")]
    static extern int clock_gettime(int clock, out Timespec time);

    /// <summary>CPU time of the calling thread.</summary>
    public static long ThreadNs()
    {
        clock_gettime(ThreadCpuTimeId, out var t);
        return t.Sec * 1_000_000_000 + t.Nsec;
    }
}

/// <summary>JSON lines on standard output. First {"ready":true,"pid":..,"runtime":..,"load":..,"port":..[,"details":..]}, then each
/// second {"ops":..,"cpu_s":..,"t_s":..,"max_gap_ms":..,"truth":{place: cpu seconds}}; all numbers since the start,
/// except max_gap_ms: the longest time that a thread waking each millisecond was late in the last second.</summary>
public static class Progress
{
    static long ops;
    static double maxGapMs;
    public static int Port;

    public static void Count(long n = 1) => Interlocked.Add(ref ops, n);

    public static void Ready(string load, object? details = null)
    {
        Practise();
        Print(new
        {
            ready = true,
            pid = Environment.ProcessId,
            runtime = Environment.Version.ToString(),
            load,
            port = Port,
            details,
        });
    }

    public static async Task Report(int seconds)
    {
        new Thread(WatchGaps) { IsBackground = true, Name = "gap-watch" }.Start();
        var clock = Stopwatch.StartNew();
        for (int i = 0; i < seconds; i++)
        {
            await Task.Delay(1000);
            Print(Line(clock.Elapsed.TotalSeconds, Interlocked.Exchange(ref maxGapMs, 0)));
        }
    }

    static object Line(double seconds, double gapMs) => new
    {
        ops = Interlocked.Read(ref ops),
        cpu_s = Process.GetCurrentProcess().TotalProcessorTime.TotalSeconds,
        t_s = seconds,
        max_gap_ms = gapMs,
        truth = Meter.All.ToDictionary(m => m.Key, m => m.Value.CpuNs / 1e9),
    };

    /// <summary>The runtime optimizes what was called thirty times: with a line a second that would be after half a minute, in the
    /// middle of somebody's measurement. Now it is at the start.</summary>
    static void Practise()
    {
        for (int i = 0; i < 60; i++)
            JsonSerializer.Serialize(Line(i, i));
    }

    static void WatchGaps()
    {
        var clock = Stopwatch.StartNew();
        while (true)
        {
            double before = clock.Elapsed.TotalMilliseconds;
            Thread.Sleep(1);
            double gap = clock.Elapsed.TotalMilliseconds - before - 1;
            if (gap > Volatile.Read(ref maxGapMs))
                Volatile.Write(ref maxGapMs, gap);
        }
    }

    static void Print(object line)
    {
        Console.Out.WriteLine(JsonSerializer.Serialize(line));
        Console.Out.Flush();
    }
}
