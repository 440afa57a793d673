namespace Checkout;

using Checkout.Loads;

/// <summary>A sample application for demos and tests: `Checkout LOAD [--seconds N] [--threads N] [--port N]`.
/// Each load burns CPU in known places, measures them itself and prints progress as JSON lines (see Progress).</summary>
public static class Program
{
    static readonly Dictionary<string, Func<Options, Task>> Loads = new()
    {
        ["hot"] = Threaded.Hot,
        ["warm"] = Threaded.Warm,
        ["shares"] = Threaded.Shares,
        ["bursts"] = Threaded.Bursts,
        ["idle"] = Threaded.Idle,
        ["doze"] = Threaded.Doze,
        ["threads"] = Threaded.ShortLived,
        ["alloc"] = Threaded.Allocate,
        ["trickle"] = Threaded.Trickle,
        ["async"] = Awaiting.Run,
        ["nested"] = Nested.Run,
        ["names"] = Naming.Run,
        ["web"] = Web.Run,
    };

    public static async Task<int> Main(string[] args)
    {
        if (args.Length == 0 || !Loads.TryGetValue(args[0], out var load))
        {
            Console.Error.WriteLine("usage: Checkout LOAD [--seconds N] [--threads N] [--port N]");
            Console.Error.WriteLine("loads: " + string.Join(" ", Loads.Keys));
            return 2;
        }
        var options = Options.Parse(args);
        await load(options);
        Progress.Ready(args[0]);
        await Progress.Report(options.Seconds);
        return 0;
    }
}

public sealed record Options(int Seconds, int Threads, int Port)
{
    public static Options Parse(string[] args)
    {
        int Value(string name, int otherwise)
        {
            int at = Array.IndexOf(args, name);
            return at >= 0 && at + 1 < args.Length ? int.Parse(args[at + 1]) : otherwise;
        }
        return new Options(Value("--seconds", int.MaxValue), Value("--threads", 0), Value("--port", 0));
    }
}
