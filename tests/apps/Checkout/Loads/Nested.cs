namespace Checkout.Loads;

/// <summary>Async methods that await each other, three deep, and work after their awaits; one that a plain method calls, and one whose task is completed
/// by other code of the application, which runs what awaits it at once: 50, 20, 20 and 10 parts.</summary>
static class Nested
{
    static readonly Meter Inner = Meter.Named("Checkout.Loads.Nested.InnerAsync");
    static readonly Meter Middle = Meter.Named("Checkout.Loads.Nested.MiddleAsync");
    static readonly Meter Direct = Meter.Named("Checkout.Loads.Nested.DirectAsync");
    static readonly Meter Published = Meter.Named("Checkout.Loads.Nested.AwaitNewsAsync");

    static TaskCompletionSource<double> news = new();

    public static Task Run(Options options)
    {
        _ = Task.Run(OuterAsync);
        new Thread(CallDirectly) { IsBackground = true, Name = "direct" }.Start();
        return Task.CompletedTask;
    }

    static async Task OuterAsync()
    {
        for (; ; Progress.Count())
            await MiddleAsync();
    }

    static async Task<double> MiddleAsync()
    {
        double x = await InnerAsync(500);
        long start = Cpu.ThreadNs();
        x = Arithmetic.Burn(200, x);
        Middle.Since(start);
        return x;
    }

    static async Task<double> InnerAsync(int units)
    {
        await Task.Yield();
        long start = Cpu.ThreadNs();
        double x = Arithmetic.Burn(units, 7);
        Inner.Since(start);
        return x;
    }

    /// <summary>As fast as the others, so that the parts hold.</summary>
    static void CallDirectly()
    {
        for (double done = 0, x = 1; ;)
        {
            long all = Inner.CpuNs;
            if (all < done)
            {
                Thread.Sleep(1);
                continue;
            }
            long before = Direct.CpuNs;
            x = DirectAsync(200, x).Result;
            done += 2.5 * (Direct.CpuNs - before);
            var told = news;
            Task<double> waiting = AwaitNewsAsync(told.Task);
            news = new TaskCompletionSource<double>();
            Publish(told, x);
            x = waiting.Result;
        }
    }

    static void Publish(TaskCompletionSource<double> told, double x) => told.SetResult(x);

    static async Task<double> DirectAsync(int units, double x)
    {
        long start = Cpu.ThreadNs();
        x = Arithmetic.Burn(units, x);
        Direct.Since(start);
        if (double.IsNaN(x))
            await Task.Yield();
        return x;
    }

    static async Task<double> AwaitNewsAsync(Task<double> told)
    {
        double x = await told;
        long start = Cpu.ThreadNs();
        x = Arithmetic.Burn(100, x);
        Published.Since(start);
        return x;
    }
}
