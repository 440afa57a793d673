namespace AllocApp;

using Checkout;

/// <summary>An application whose allocations are known: `AllocApp MODE [--threads N] [--pause MS] [--seconds N]`. It prints
/// {"ready":true, ..., "details":{site: {"type", "objects", "bytes"}}}, what each operation allocates at each site by the runtime's own
/// counter, and then a progress line each second (see Checkout.Progress).
///
///   sites   ten sites of falling weight, mixed at random: each operation is one round over them
///   loop    does nothing but allocate; an operation is 1,000 arrays of 100 bytes and an object
///   callers small methods without a frame: who asks for what the same method allocates
///   fresh   a thread a hundredth of a second, which allocates and ends
///   idle    allocates next to nothing</summary>
public static class Program
{
    public static int Main(string[] args)
    {
        string mode = args.Length > 0 ? args[0] : "";
        int threads = (int)Value(args, "--threads", 1), pause = (int)Value(args, "--pause", 0);
        object? details = null;
        switch (mode)
        {
            case "sites":
                details = Shop.Sites.Measure();
                for (int i = 0; i < threads; i++)
                    Start("shop" + i, () => Shop.Sites.Work(pause).Wait());
                break;
            case "loop":
                for (int i = 0; i < threads; i++)
                    Start("alloc" + i, Loops.Allocate);
                break;
            case "callers":
                Start("callers", Shop.Callers.Work);
                break;
            case "fresh":
                Start("starter", Loops.StartThreads);
                break;
            case "idle":
                break;
            default:
                Console.Error.WriteLine("usage: AllocApp sites|loop|callers|fresh|idle [--threads N] [--pause MS] [--seconds N]");
                return 2;
        }
        Progress.Ready(mode, details);
        Progress.Report((int)Value(args, "--seconds", int.MaxValue)).Wait();
        return 0;
    }

    static long Value(string[] args, string name, long otherwise)
    {
        int at = Array.IndexOf(args, name);
        return at >= 0 && at + 1 < args.Length ? long.Parse(args[at + 1]) : otherwise;
    }

    static void Start(string name, Action work) => new Thread(() => work()) { IsBackground = true, Name = name }.Start();
}
