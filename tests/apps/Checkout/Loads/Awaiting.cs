namespace Checkout.Loads;

/// <summary>CPU inside async methods, before and after their awaits: 60, 30 and 10 parts.</summary>
static class Awaiting
{
    static readonly Meter Reserve = Meter.Named("Checkout.Loads.Awaiting.ReserveAsync");
    static readonly Meter Charge = Meter.Named("Checkout.Loads.Awaiting.ChargeAsync");
    static readonly Meter Notify = Meter.Named("Checkout.Loads.Awaiting.NotifyAsync");

    public static Task Run(Options options)
    {
        int flows = options.Threads > 0 ? options.Threads : 2;
        for (int i = 0; i < flows; i++)
            _ = Task.Run(PlaceOrdersAsync);
        return Task.CompletedTask;
    }

    static async Task PlaceOrdersAsync()
    {
        while (true)
        {
            await ReserveAsync(600);
            await ChargeAsync(300);
            await NotifyAsync(100);
            Progress.Count();
        }
    }

    static async Task<double> ReserveAsync(int units)
    {
        long start = Cpu.ThreadNs();
        double x = Arithmetic.Burn(units / 2, 7);
        Reserve.Since(start);
        await Task.Yield();
        start = Cpu.ThreadNs();
        x = Arithmetic.Burn(units / 2, x);
        Reserve.Since(start);
        return x;
    }

    static async Task<double> ChargeAsync(int units)
    {
        await Task.Delay(1);
        long start = Cpu.ThreadNs();
        double x = Arithmetic.Burn(units, 8);
        Charge.Since(start);
        return x;
    }

    static async ValueTask<double> NotifyAsync(int units)
    {
        await Task.Yield();
        long start = Cpu.ThreadNs();
        double x = Arithmetic.Burn(units, 9);
        Notify.Since(start);
        return x;
    }
}
