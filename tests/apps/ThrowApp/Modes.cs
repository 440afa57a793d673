namespace Shop;

using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

public class OrderException(string message, Exception? inner = null) : Exception(message, inner);

public class Refused<T>(string message) : Exception(message);

/// <summary>One operation, and what it throws: exceptions that are new, that are thrown again by `throw;`, and that an await throws again; the type of
/// the first and the method that throws it.</summary>
public sealed record Mode(Action<int> Operation, int New, int Rethrown, int Awaits, string Type, string Method);

public static class Modes
{
    public static readonly Dictionary<string, Mode> All = new()
    {
        ["none"] = new(_ => Thread.Sleep(10), 0, 0, 0, "", ""),
        ["plain"] = new(Plain.Run, 1, 0, 0, "Shop.OrderException", "Shop.Plain.Check"),
        ["same"] = new(Same.Run, 1, 0, 0, "Shop.OrderException", "Shop.Same.Run"),
        ["deep"] = new(i => Deep.Run(60, i), 1, 0, 0, "Shop.OrderException", "Shop.Deep.Throw"),
        ["filter"] = new(Filter.Run, 1, 0, 0, "Shop.OrderException", "Shop.Filter.Throw"),
        ["nested"] = new(Nested.Run, 2, 0, 0, "System.InvalidOperationException", "Shop.Nested.Inner"),
        ["rethrow"] = new(Rethrow.Run, 1, 1, 0, "Shop.OrderException", "Shop.Rethrow.Throw"),
        ["throwex"] = new(Rethrow.RunEx, 2, 0, 0, "Shop.OrderException", "Shop.Rethrow.Throw"),
        ["async"] = new(Async.Run, 1, 0, 5, "Shop.OrderException", "Shop.Async.Level5"),
        ["generic"] = new(Generic.Run, 1, 0, 0, "Shop.Refused<string>", "Shop.Generic.Throw<_>"),
        ["dynamic"] = new(Dynamic.Run, 1, 0, 0, "System.InvalidOperationException", "Shop.Dynamic.Run"),
        ["constructor"] = new(Constructor.Run, 1, 0, 0, "Shop.OrderException", "new Shop.Constructor.Thing"),
        ["static"] = new(Static.Run, 1, 0, 0, "System.TypeInitializationException", "Shop.Static.Run"),
        ["cancel"] = new(_ => Cancel.Run(), 1, 0, 0, "System.OperationCanceledException", "Shop.Cancel.Run"),
        ["parse"] = new(Parse.Run, 1, 0, 0, "System.FormatException", "Shop.Parse.Number"),
        ["types"] = new(Types.Run, 1, 0, 0, "", "Shop.Types.Throw"),
        ["messages"] = new(Messages.Run, 1, 0, 0, "Shop.OrderException", "Shop.Messages.Throw"),
        ["hostile"] = new(Hostile.Run, 1, 0, 0, "Shop.OrderException", "Shop.Hostile.Throw"),
        ["retry"] = new(Retry.Run, 1, 0, 0, "System.Net.Sockets.SocketException", "Shop.Retry.Connect"),
    };
}

public static class Plain
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Check(int number) => throw new OrderException($"Order {number} of customer 'c-{number * 7}' was not found");

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Order(int number)
    {
        Check(number);
        GC.KeepAlive(number);
    }

    public static void Run(int number)
    {
        try
        {
            Order(number);
        }
        catch (OrderException)
        {
        }
    }
}

public static class Same
{
    public static void Run(int number)
    {
        try
        {
            if (number >= 0)
                throw new OrderException("not there");
        }
        catch (OrderException)
        {
        }
    }
}

public static class Deep
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Throw(int number) => throw new OrderException("deep " + number);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Down(int level, int number) => level == 0 ? Throw(number) + 1 : Down(level - 1, number) + 1;

    public static void Run(int levels, int number)
    {
        try
        {
            Down(levels, number);
        }
        catch (OrderException)
        {
        }
    }
}

public static class Filter
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw(int number) => throw new OrderException("filtered " + number);

    static bool No(Exception e) => e.Message.Length == 0;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Inner(int number)
    {
        try
        {
            Throw(number);
        }
        catch (OrderException e) when (No(e))
        {
            Environment.FailFast("the filter says no");
        }
    }

    public static void Run(int number)
    {
        try
        {
            Inner(number);
        }
        catch (OrderException e) when (!No(e))
        {
        }
    }
}

public static class Nested
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Inner() => throw new InvalidOperationException("inner");

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Outer()
    {
        try
        {
            Inner();
        }
        catch (InvalidOperationException e)
        {
            throw new OrderException("outer", e);
        }
    }

    public static void Run(int number)
    {
        try
        {
            Outer();
        }
        catch (OrderException)
        {
        }
    }
}

public static class Rethrow
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw(int number) => throw new OrderException("again " + number);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Again(int number)
    {
        try
        {
            Throw(number);
        }
        catch (OrderException)
        {
            throw;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void AgainEx(int number)
    {
        try
        {
            Throw(number);
        }
        catch (OrderException e)
        {
#pragma warning disable CA2200
            throw e;
#pragma warning restore CA2200
        }
    }

    public static void Run(int number)
    {
        try
        {
            Again(number);
        }
        catch (OrderException)
        {
        }
    }

    public static void RunEx(int number)
    {
        try
        {
            AgainEx(number);
        }
        catch (OrderException)
        {
        }
    }
}

/// <summary>Five methods that await each other, and one that waits: the exception of the innermost is thrown again at each await.</summary>
public static class Async
{
    static async Task Level5(int number)
    {
        await Task.Yield();
        throw new OrderException("async " + number);
    }

    static async Task Level4(int number) => await Level5(number);
    static async Task Level3(int number) => await Level4(number);
    static async Task Level2(int number) => await Level3(number);
    static async Task Level1(int number) => await Level2(number);

    static async Task Caught(int number)
    {
        try
        {
            await Level1(number);
        }
        catch (OrderException)
        {
        }
    }

    public static void Run(int number) => Caught(number).GetAwaiter().GetResult();
}

public static class Generic
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw<T>(T what) => throw new Refused<T>("refused " + what);

    public static void Run(int number)
    {
        try
        {
            Throw(number.ToString());
        }
        catch (Refused<string>)
        {
        }
    }
}

public static class Dynamic
{
    static readonly Action Thrower = Make();

    static Action Make()
    {
        var method = new DynamicMethod("made_thrower", null, [], typeof(Dynamic).Module, true);
        var il = method.GetILGenerator();
        il.Emit(OpCodes.Ldstr, "made at run time");
        il.Emit(OpCodes.Newobj, typeof(InvalidOperationException).GetConstructor([typeof(string)])!);
        il.Emit(OpCodes.Throw);
        return method.CreateDelegate<Action>();
    }

    public static void Run(int number)
    {
        try
        {
            Thrower();
        }
        catch (InvalidOperationException)
        {
        }
    }
}

public static class Constructor
{
    sealed class Thing
    {
        public Thing(int number) => throw new OrderException("no thing " + number);
    }

    public static void Run(int number)
    {
        try
        {
            GC.KeepAlive(new Thing(number));
        }
        catch (OrderException)
        {
        }
    }
}

public static class Static
{
    static class Broken
    {
        public static readonly int Value = Make();

        static Broken()
        {
        }

        static int Make() => throw new OrderException("never made");
    }

    /// <summary>The first time it is two exceptions; from then on the runtime throws the one that it keeps.</summary>
    public static void Prepare() => Run(0);

    public static void Run(int number)
    {
        try
        {
            GC.KeepAlive(Broken.Value);
        }
        catch (TypeInitializationException)
        {
        }
    }
}

public static class Cancel
{
    static readonly CancellationToken Cancelled = new(true);

    public static void Run()
    {
        try
        {
            Cancelled.ThrowIfCancellationRequested();
        }
        catch (OperationCanceledException)
        {
        }
    }
}

public static class Parse
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Number(string text)
    {
        try
        {
            return int.Parse(text);
        }
        catch (FormatException)
        {
            return 0;
        }
    }

    public static void Run(int number) => Number("x" + number);
}

/// <summary>A hundred types of exceptions, made of generic ones.</summary>
public static class Types
{
    static readonly Type[] Arguments =
        [typeof(int), typeof(long), typeof(byte), typeof(char), typeof(bool), typeof(short), typeof(double), typeof(float), typeof(string), typeof(object)];
    static readonly Func<Exception>[] Makers = Make();

    sealed class Pair<TFirst, TSecond>() : Exception("one of a hundred");

    static Func<Exception>[] Make()
    {
        var made = new List<Func<Exception>>();
        foreach (var first in Arguments)
            foreach (var second in Arguments)
                made.Add(Expression.Lambda<Func<Exception>>(Expression.New(typeof(Pair<,>).MakeGenericType(first, second))).Compile());
        return made.ToArray();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw(int number) => throw Makers[number % Makers.Length]();

    public static void Run(int number)
    {
        try
        {
            Throw(number);
        }
        catch (Exception)
        {
        }
    }
}

/// <summary>Messages that are all different: in a word, not in a number.</summary>
public static class Messages
{
    static string Word(int number)
    {
        Span<char> text = stackalloc char[8];
        for (int i = 0; i < text.Length; i++, number /= 7)
            text[i] = (char)('a' + (number + 3 * i) % 26);
        return new string(text);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw(int number) => throw new OrderException("customer " + Word(number) + " is not known");

    public static void Run(int number)
    {
        try
        {
            Throw(number);
        }
        catch (OrderException)
        {
        }
    }
}

public static class Hostile
{
    static readonly string[] Texts =
    [
        new string('x', 65536), "\ud800 alone \udc00", "a\u0001b\u001b[31mred\u202egnirts", "<script>alert('hunter2')</script> & </style>",
        "password=hunter2; token: s3cr3t-hunter2", "hunter2", "", "user hunter with Bearer eyJhunter2.abc", "line\nbreak\tand\0nul", new('\u65e5', 40000),
    ];

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw(int number) => throw new OrderException(Texts[number % Texts.Length]);

    public static void Run(int number)
    {
        try
        {
            Throw(number);
        }
        catch (OrderException)
        {
        }
    }
}

/// <summary>Asks one address that nobody answers at, again and again.</summary>
public static class Retry
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Connect()
    {
        using var socket = new System.Net.Sockets.Socket(System.Net.Sockets.SocketType.Stream, System.Net.Sockets.ProtocolType.Tcp);
        socket.Connect(System.Net.IPAddress.Loopback, 1);
    }

    public static void Run(int number)
    {
        try
        {
            Connect();
        }
        catch (System.Net.Sockets.SocketException)
        {
        }
    }
}
