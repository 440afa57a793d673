namespace ThrowApp;

using Checkout;

/// <summary>An application whose exceptions are known: `ThrowApp MODE[,MODE...] [--threads N] [--rate N] [--burst N --go FILE] [--seconds N]`. It
/// prints {"ready":true, ..., "details":{mode: {"new", "rethrown", "awaits", "type", "method"}}}, what each operation of the mode throws, and then a
/// progress line each second (see Checkout.Progress), whose `ops` counts operations of all modes.
///
/// Each mode has N threads. With --burst they begin when FILE is there, each does N operations and throws no more; --rate: operations a second of each
/// mode (0: as many as it can).</summary>
public static class Program
{
    public static int Main(string[] args)
    {
        string[] modes = (args.Length > 0 ? args[0] : "").Split(',');
        if (!modes.All(Shop.Modes.All.ContainsKey))
        {
            Console.Error.WriteLine("usage: ThrowApp " + string.Join("|", Shop.Modes.All.Keys) +
                                    "[,...] [--threads N] [--rate N] [--burst N --go FILE] [--seconds N]");
            return 2;
        }
        int threads = (int)Value(args, "--threads", 1);
        long burst = Value(args, "--burst", 0), rate = Value(args, "--rate", 0);
        int go = Array.IndexOf(args, "--go");
        Shop.Static.Prepare();
        foreach (string mode in modes)
            for (int i = 0; i < threads; i++)
            {
                int number = i;
                Start(mode + i, () => Work(Shop.Modes.All[mode].Operation, number, rate / (double)threads, burst, go >= 0 ? args[go + 1] : null));
            }
        Progress.Ready(args[0], modes.ToDictionary(m => m, m => Details(Shop.Modes.All[m])));
        Progress.Report((int)Value(args, "--seconds", int.MaxValue)).Wait();
        return 0;
    }

    static object Details(Shop.Mode m) => new { @new = m.New, rethrown = m.Rethrown, awaits = m.Awaits, type = m.Type, method = m.Method };

    static void Work(Action<int> operation, int number, double rate, long burst, string? go)
    {
        while (go != null && !File.Exists(go))
            Thread.Sleep(5);
        var clock = System.Diagnostics.Stopwatch.StartNew();
        for (long i = 0; burst == 0 || i < burst; i++)
        {
            operation((int)i + number);
            Progress.Count();
            while (rate > 0 && i + 1 > clock.Elapsed.TotalSeconds * rate)
                Thread.Sleep(1);
        }
        Thread.Sleep(Timeout.Infinite);
    }

    static long Value(string[] args, string name, long otherwise)
    {
        int at = Array.IndexOf(args, name);
        return at >= 0 && at + 1 < args.Length ? long.Parse(args[at + 1]) : otherwise;
    }

    static void Start(string name, Action work) => new Thread(() => work()) { IsBackground = true, Name = name }.Start();
}
