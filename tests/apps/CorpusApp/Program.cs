namespace Shop.Hosting;

using System.Reflection;
using System.Text.Json;

/// <summary>What an application of the corpus begins with: `public static void Start()` or `Task Start()` of the class. What is wrong with it, or that
/// nothing is, stands in tests/corpus/truth.</summary>
[AttributeUsage(AttributeTargets.Class)]
public sealed class LoadAttribute(string name) : Attribute
{
    public string Name => name;
}

/// <summary>Many small services in one executable: `CorpusApp NAME` is one of them, `CorpusApp list` names all. Prints {"ready":true, ...} when it works,
/// and then works until it is killed.</summary>
public static class Program
{
    public static async Task<int> Main(string[] args)
    {
        var loads = (from type in typeof(Program).Assembly.GetTypes()
                     let load = type.GetCustomAttribute<LoadAttribute>()
                     where load != null
                     select (load.Name, type)).ToDictionary(x => x.Name, x => x.type);
        if (args is ["list"])
        {
            Console.WriteLine(string.Join("\n", loads.Keys.Order()));
            return 0;
        }
        if (args is [Elsewhere.Word])
        {
            Elsewhere.Run();
            return 0;
        }
        if (args.Length == 0 || !loads.TryGetValue(args[0], out var chosen))
        {
            Console.Error.WriteLine("usage: CorpusApp list | NAME");
            return 2;
        }
        Background.Start();
        if (chosen.GetMethod("Start", BindingFlags.Static | BindingFlags.Public)!.Invoke(null, null) is Task started)
            await started;
        Console.WriteLine(JsonSerializer.Serialize(new
        {
            ready = true,
            pid = Environment.ProcessId,
            runtime = Environment.Version.ToString(),
            load = args[0],
            port = Web.Port,
        }));
        await Task.Delay(Timeout.Infinite);
        return 0;
    }
}
