namespace Shop;

using System.Collections.Concurrent;
using System.Diagnostics;
using Checkout;

/// <summary>Requests that stand at awaits of their own: one part at a timer, three at something that a thread completes; and work of nobody's beside them
/// on the same threads.</summary>
public static class Awaiting
{
    static readonly BlockingCollection<(TaskCompletionSource Done, long At)> Due = new();

    public static void Map(WebApplication app)
    {
        app.Get("/awaits/{ms}", Answer);
        app.Get("/awaits/beside/{loops}", (int loops) =>
        {
            using (ExecutionContext.SuppressFlow())
                for (int i = 0; i < loops; i++)
                    _ = Task.Run(Beside);
        });
        new Thread(Complete) { IsBackground = true, Name = "completes" }.UnsafeStart();
    }

    static async Task<string> Answer(HttpContext context, int ms)
    {
        var bill = Bill.Of(context);
        await Shortly(bill, ms);
        await Longer(bill, 3 * ms);
        return "answered";
    }

    static async Task Shortly(Bill bill, int ms)
    {
        long from = Stopwatch.GetTimestamp();
        await Task.Delay(ms); // Shortly
        bill.Add("shortly", Stopwatch.GetElapsedTime(from).TotalMilliseconds, 0);
    }

    static async Task Longer(Bill bill, int ms)
    {
        long from = Stopwatch.GetTimestamp();
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Due.Add((done, from + ms * Stopwatch.Frequency / 1000));
        await done.Task; // Longer
        bill.Add("longer", Stopwatch.GetElapsedTime(from).TotalMilliseconds, 0);
    }

    static async Task Beside()
    {
        for (; ; await Task.Delay(3))
        {
            long until = Cpu.ThreadNs() + 100_000;
            while (Cpu.ThreadNs() < until)
            {
            }
        }
    }

    /// <summary>They come in the order in which they are due.</summary>
    static void Complete()
    {
        foreach (var (done, at) in Due.GetConsumingEnumerable())
        {
            long left = at - Stopwatch.GetTimestamp();
            if (left > 0)
                Thread.Sleep((int)(left * 1000 / Stopwatch.Frequency) + 1);
            done.SetResult();
        }
    }
}
