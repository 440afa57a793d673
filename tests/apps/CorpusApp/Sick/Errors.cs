namespace Shop.Errors
{
    using System.Text.Json;
    using Shop.Hosting;
    using Shop.Simulation;

    /// <summary>A loop that tries again whatever went wrong, with a token that has been canceled: its rest throws at once, for ever.</summary>
    [Load("error-canceled")]
    static class OutboxSender
    {
        public static void Start()
        {
            var stop = new CancellationTokenSource();
            stop.Cancel();
            _ = Task.Run(() => SendAll(stop.Token));
        }

        static async Task SendAll(CancellationToken token)
        {
            while (true)
            {
                try
                {
                    await SendOne(token);
                }
                catch (Exception)
                {
                    // the next one
                }
            }
        }

        static async Task SendOne(CancellationToken token)
        {
            await Task.Yield();
            await Task.Delay(100, token);
        }
    }

    /// <summary>A handler throws at each tick of a timer that tells nobody: fifty times a second.</summary>
    [Load("error-tick")]
    sealed class PriceTicker
    {
        sealed record Quote(decimal Price);

        static readonly System.Timers.Timer Timer = new(20);
        Quote? last;

        public static void Start()
        {
            var ticker = new PriceTicker();
            Timer.Elapsed += (_, _) => ticker.OnTick();
            Timer.Start();
            Service.Every("work", 2, () => GC.KeepAlive(DemandModel.Step(5000)));
        }

        void OnTick()
        {
            decimal price = last!.Price;
            last = new Quote(price + 1);
        }
    }

    /// <summary>A Lazy whose value could not be made keeps the exception and throws it to each who asks: hundreds a second.</summary>
    [Load("error-lazy")]
    static class TaxRates
    {
        static readonly Lazy<Dictionary<string, decimal>> Rates = new(Load);

        public static void Start()
        {
            for (int i = 0; i < 3; i++)
                Service.Every("orders-" + i, 4, () =>
                {
                    for (int n = 0; n < 4; n++)
                        GC.KeepAlive(RateOf("de"));
                });
        }

        static Dictionary<string, decimal> Load() => throw new FileNotFoundException("rates");

        static decimal RateOf(string country)
        {
            try
            {
                return Rates.Value[country];
            }
            catch (FileNotFoundException)
            {
                return 0.2m;
            }
        }
    }

    /// <summary>Rules are called by reflection, which wraps what they throw.</summary>
    [Load("error-reflection")]
    static class RuleBook
    {
        static readonly System.Reflection.MethodInfo[] Rules = typeof(RuleBook).GetMethods(
            System.Reflection.BindingFlags.NonPublic | System.Reflection.BindingFlags.Static).Where(m => m.Name.StartsWith("Rule")).ToArray();

        public static void Start() => Service.Every("rules", 2, () =>
        {
            for (int i = 0; i < 4; i++)
                GC.KeepAlive(AllHold(-i - 1));
        });

        static bool AllHold(int amount)
        {
            try
            {
                foreach (var rule in Rules)
                    rule.Invoke(null, [amount]);
                return true;
            }
            catch (System.Reflection.TargetInvocationException)
            {
                return false;
            }
        }

        static void RulePositive(int amount) => ArgumentOutOfRangeException.ThrowIfNegative(amount);
    }

    /// <summary>Bodies that are no JSON are found by the exception, in a web service that gets many.</summary>
    [Load("error-json")]
    static class WebhookEndpoint
    {
        sealed record Hook(int Id, string Event);

        public static Task Start() => Web.Serve(app => app.MapGet("/hook", () => Read("<hook id='1'/>")), "/hook", 4);

        static string Read(string body)
        {
            try
            {
                return JsonSerializer.Deserialize<Hook>(body)!.Event;
            }
            catch (JsonException)
            {
                return "no JSON";
            }
        }
    }
}
