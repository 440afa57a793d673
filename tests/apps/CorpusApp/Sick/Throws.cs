namespace Shop.Parsing
{
    using System.Globalization;
    using Shop.Hosting;

    /// <summary>Ten thousand fields a second are no numbers, and each one throws.</summary>
    [Load("throw-fields")]
    static class FieldReader
    {
        public static void Start() => Service.Every("import", 1, () =>
        {
            for (int i = 0; i < 12; i++)
                Number("n/a");
        });

        static decimal? Number(string text)
        {
            try
            {
                return decimal.Parse(text, CultureInfo.InvariantCulture);
            }
            catch (FormatException)
            {
                return null;
            }
        }
    }

    enum Colour
    {
        Red, Green
    }

    /// <summary>An enumeration that is parsed for each row, and that most rows do not have.</summary>
    [Load("throw-enum")]
    static class ColourColumn
    {
        public static void Start()
        {
            for (int i = 0; i < 2; i++)
                Service.Every("rows-" + i, 1, () =>
                {
                    for (int row = 0; row < 6; row++)
                        Of(row % 5 == 0 ? "Red" : "colour " + row);
                });
        }

        static Colour Of(string text)
        {
            try
            {
                return (Colour)Enum.Parse(typeof(Colour), text);
            }
            catch (ArgumentException)
            {
                return Colour.Green;
            }
        }
    }

    /// <summary>A missing key is the usual case, and is found by the exception.</summary>
    [Load("throw-missing")]
    static class Discounts
    {
        static readonly Dictionary<string, int> Known = new() { ["gold"] = 10 };

        public static Task Start() => Web.Serve(app => app.MapGet("/discounts", () =>
        {
            int sum = 0;
            for (int i = 0; i < 40; i++)
                sum += Find("customer-" + i);
            return sum;
        }), "/discounts", 2, 4);

        static int Find(string customer)
        {
            try
            {
                return Known[customer];
            }
            catch (KeyNotFoundException)
            {
                return 0;
            }
        }
    }
}

namespace Shop.Delivery
{
    using System.Net.Sockets;
    using Shop.Hosting;

    sealed class AddressException(string message, Exception? inner = null) : Exception(message, inner);

    /// <summary>Each layer catches, wraps, and throws on.</summary>
    [Load("throw-layers")]
    static class AddressCheck
    {
        public static void Start()
        {
            for (int i = 0; i < 2; i++)
                Service.Every("check-" + i, 2, () =>
                {
                    for (int n = 0; n < 4; n++)
                        IsGood("street " + n);
                });
        }

        static bool IsGood(string text)
        {
            try
            {
                Layer(text, 3);
                return true;
            }
            catch (AddressException)
            {
                return false;
            }
        }

        static void Layer(string text, int deep)
        {
            try
            {
                if (deep == 0)
                    throw new AddressException("no number in " + text);
                Layer(text, deep - 1);
            }
            catch (AddressException e) when (deep > 0)
            {
                throw new AddressException("layer " + deep, e);
            }
        }
    }

    /// <summary>Nobody listens at the carrier's port; it is asked again each 60 ms, for ever.</summary>
    [Load("throw-retry")]
    static class CarrierClient
    {
        public static void Start() => Service.Every("carrier", 60, () =>
        {
            try
            {
                Connect();
            }
            catch (SocketException)
            {
                // again
            }
        });

        static void Connect()
        {
            using var client = new TcpClient();
            client.Connect("127.0.0.1", 1);
        }
    }

    /// <summary>An exception goes through five async methods, hundreds of times a second.</summary>
    [Load("throw-awaits")]
    static class RouteService
    {
        public static void Start()
        {
            for (int i = 0; i < 3; i++)
                _ = Work();
        }

        static async Task Work()
        {
            while (true)
            {
                for (int i = 0; i < 6; i++)
                    try
                    {
                        await Plan(4);
                    }
                    catch (TimeoutException)
                    {
                    }
                await Task.Delay(2);
            }
        }

        static async Task<int> Plan(int deep)
        {
            await Task.Yield();
            return deep == 0 ? throw new TimeoutException() : 1 + await Plan(deep - 1);
        }
    }

    /// <summary>A filter decides, First() finds nothing, and the message has what nobody should read.</summary>
    [Load("throw-filter")]
    static class Parcels
    {
        static readonly string[] Names = ["a", "b"];

        public static void Start() => Service.Every("parcels", 1, () =>
        {
            for (int i = 0; i < 8; i++)
                Search("hunter-" + i);
        });

        [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)] // which .NET 11 does
        static string Search(string secret)
        {
            try
            {
                return Names.First(name => name == secret);
            }
            catch (InvalidOperationException e) when (e.InnerException is null)
            {
                return "none";
            }
        }
    }

    /// <summary>Validation by exceptions, in a web service, with an error handler that turns them into polite answers.</summary>
    [Load("throw-validation")]
    static class BookingEndpoint
    {
        public static Task Start() => Web.Serve(app =>
        {
            app.Use(async (context, next) =>
            {
                try
                {
                    await next(context);
                }
                catch (ArgumentException)
                {
                    await context.Response.WriteAsync("How many guests?");
                }
            });
            app.MapGet("/book", (int guests) => Validate(guests));
        }, "/book?guests=0", 4);

        static string Validate(int guests) => guests > 0 ? "ok" : throw new ArgumentException("guests");
    }
}
