namespace Shop;

using System.Buffers.Binary;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Http.Features;

/// <summary>What strangers send goes everywhere that a profiler may read: paths and methods of requests, messages and types of exceptions, SQL texts, calls,
/// names of threads, types and methods. A request with the header X-Stranger says where its body (UTF-16) goes; its answer is the sum of all that came, and
/// /truth/strangers tells how many were given.</summary>
public static class Strangers
{
    const uint Start = 2166136261, Prime = 16777619;
    static readonly DiagnosticListener Entities = new("Microsoft.EntityFrameworkCore");
    static readonly HttpClient Client = new();
    static long answered;

    public static void Use(WebApplication app)
    {
        app.MapGet("/truth/strangers", () => Interlocked.Read(ref answered));
        app.Use(async (context, next) =>
        {
            string what = context.Request.Headers["X-Stranger"].ToString();
            if (what == "")
            {
                await next();
                return;
            }
            var body = new MemoryStream();
            await context.Request.Body.CopyToAsync(body);
            string text = Text(body.ToArray());
            await Take(what, text, context);
            byte[] answer = System.Text.Encoding.ASCII.GetBytes($"{Sum(context.Features.Get<IHttpRequestFeature>()!.RawTarget + text):x8}");
            context.Response.ContentLength = answer.Length;
            Interlocked.Increment(ref answered);
            await context.Response.Body.WriteAsync(answer);
        });
    }

    static string Text(byte[] bytes)
    {
        var units = new char[bytes.Length / 2];
        for (int i = 0; i < units.Length; i++)
            units[i] = (char)BinaryPrimitives.ReadUInt16LittleEndian(bytes.AsSpan(2 * i));
        return new string(units);
    }

    static uint Sum(string text)
    {
        uint h = Start;
        foreach (char c in text)
            h = (h ^ c) * Prime;
        return h;
    }

    static async Task Take(string what, string text, HttpContext context)
    {
        switch (what)
        {
            case "throw":
                Catch(text);
                break;
            case "sql":
                Ask(text);
                break;
            case "npgsql":
                StrangeSource.Log.CommandStart(text);
                StrangeSource.Log.CommandStop();
                break;
            case "thread":
                var thread = new Thread(() => Thread.Sleep(1)) { Name = text };
                thread.Start();
                thread.Join();
                break;
            case "type":
                Make(text);
                break;
            case "http":
                await Client.GetAsync($"http://127.0.0.1:{context.Connection.LocalPort}/fast/{Uri.EscapeDataString(text.Length > 2000 ? text[..2000] : text)}");
                break;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Catch(string text)
    {
        try
        {
            throw new OrderRefused(text);
        }
        catch (OrderRefused)
        {
        }
    }

    static void Ask(string text)
    {
        var id = Guid.NewGuid();
        var command = new StrangeCommand(text.Length % 2 == 0 ? "Microsoft.Data.Sqlite.SqliteCommand" : text, text);
        if (Entities.IsEnabled("Microsoft.EntityFrameworkCore.Database.Command.CommandExecuting"))
            Entities.Write("Microsoft.EntityFrameworkCore.Database.Command.CommandExecuting", new { CommandId = id, Command = command });
        if (Entities.IsEnabled("Microsoft.EntityFrameworkCore.Database.Command.CommandExecuted"))
            Entities.Write("Microsoft.EntityFrameworkCore.Database.Command.CommandExecuted", new { CommandId = id, Command = command });
    }

    /// <summary>A type and a method of that name, in an assembly that is collected; the method allocates, and throws an exception of that type.</summary>
    static void Make(string name)
    {
        try
        {
            var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("strange"), AssemblyBuilderAccess.RunAndCollect);
            var type = assembly.DefineDynamicModule("strange").DefineType(name, TypeAttributes.Public, typeof(Exception));
            var il = type.DefineMethod(name, MethodAttributes.Public | MethodAttributes.Static).GetILGenerator();
            for (int i = 0; i < 20; i++)
            {
                il.Emit(OpCodes.Ldc_I4, 1000);
                il.Emit(OpCodes.Newarr, typeof(byte));
                il.Emit(OpCodes.Pop);
            }
            il.Emit(OpCodes.Newobj, type.DefineDefaultConstructor(MethodAttributes.Public));
            il.Emit(OpCodes.Throw);
            type.CreateType().GetMethods(BindingFlags.Static | BindingFlags.Public)[0].Invoke(null, null);
        }
        catch (Exception e) when (e is TargetInvocationException or ArgumentException or TypeLoadException or BadImageFormatException)
        {
        }
    }
}

public sealed class OrderRefused(string message) : Exception(message);

public sealed class StrangeCommand(string name, string text)
{
    public string CommandText => text;
    public override string ToString() => name;
}

/// <summary>As Npgsql tells of its commands: only where it does not do so itself.</summary>
[EventSource(Name = "Npgsql.Sql")]
public sealed class StrangeSource : EventSource
{
    public static readonly StrangeSource Log = new();

    [Event(3)]
    public void CommandStart(string sql) => WriteEvent(3, sql);

    [Event(4)]
    public void CommandStop() => WriteEvent(4);
}
