// Async operations whose state is known: `AsyncApp MODE [--seconds N] [--count N]` brings them into it, prints {"ready":true, ..., "details":{...}} and goes
// on with a progress line each second. Those of class Sick stand for good, those of Healthy look like it and move, or wait as is their work.
namespace Shop;

using Checkout;

public static class Program
{
    /// <summary>How many operations a mode makes, where it is not its own number.</summary>
    public static int Count = 666;

    static readonly Dictionary<string, Func<Task<object>>> Modes = new()
    {
        ["stuck"] = Sick.Stuck, ["nested"] = Sick.Nested, ["pending"] = Sick.Pending, ["twice"] = Sick.Twice, ["growing"] = Sick.Growing,
        ["http"] = Sick.Http, ["faulted"] = Sick.Faulted, ["blocked"] = Sick.Blocked, ["whenall"] = Sick.WhenAll, ["pooled"] = Sick.Pooled,
        ["iterator"] = Sick.Iterator, ["lambda"] = Sick.Lambda, ["many"] = Sick.Many, ["garbage"] = Sick.Garbage,
        ["polls"] = Healthy.Polls, ["channels"] = Healthy.Channels, ["periodic"] = Healthy.Periodic, ["keepalive"] = Healthy.KeepAlive,
        ["streams"] = Healthy.Streams, ["moving"] = Healthy.Moving, ["downloads"] = Healthy.Downloads, ["signal"] = Healthy.Signal, ["gate"] = Healthy.Gate,
        ["replies"] = Healthy.Replies, ["accept"] = Healthy.Accept, ["idle"] = Healthy.Idle, ["observed"] = Healthy.Observed,
        ["churn"] = Healthy.Churn, ["givenup"] = Healthy.GivenUp, ["delays"] = Healthy.Delays,
        ["database"] = Pools.Database, ["databaseleak"] = Pools.DatabaseLeak, ["databasebusy"] = Pools.DatabaseBusy, ["httpbusy"] = Pools.HttpBusy,
    };

    public static int Main(string[] args)
    {
        if (args.Length == 0 || !Modes.TryGetValue(args[0], out var mode))
        {
            Console.Error.WriteLine("usage: AsyncApp MODE [--seconds N] [--count N]; modes: " + string.Join(" ", Modes.Keys));
            return 2;
        }
        int count = Array.IndexOf(args, "--count");
        if (count >= 0)
            Count = int.Parse(args[count + 1]);
        object details = mode().GetAwaiter().GetResult();
        new Thread(Tick) { IsBackground = true, Name = "ticker" }.Start();
        Progress.Ready(args[0], details);
        int at = Array.IndexOf(args, "--seconds");
        Progress.Report(at >= 0 ? int.Parse(args[at + 1]) : int.MaxValue).Wait();
        return 0;
    }

    static void Tick()
    {
        for (;; Thread.Sleep(1))
            Progress.Count();
    }
}
