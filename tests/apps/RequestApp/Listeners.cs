namespace Shop;

using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.Tracing;

/// <summary>What lets those wait who begin or end to listen to the application: /truth/hold/first-open and such let the next one wait there, in code of the
/// application, until /truth/hold/none; /truth/held is where somebody waits.</summary>
public static class Holding
{
    static readonly object Gate = new();
    static readonly List<object> Kept = [];
    static string at = "none", held = "";

    public static void Start()
    {
        Kept.Add(new HeldSource());
        Kept.Add(new HeldListener());
    }

    public static void Map(WebApplication app)
    {
        app.MapGet("/truth/hold/{at}", (string at) =>
        {
            lock (Gate)
            {
                Holding.at = at;
                Monitor.PulseAll(Gate);
            }
        });
        app.MapGet("/truth/held", () => held);
    }

    public static void Wait(string where)
    {
        lock (Gate)
        {
            if (at != where)
                return;
            for (held = where; at == where;)
                Monitor.Wait(Gate);
            held = "";
        }
    }
}

/// <summary>It has the name of a source that is listened to all the time that requests are followed.</summary>
[EventSource(Name = "Npgsql.Sql")]
public sealed class HeldSource : EventSource
{
    protected override void OnEventCommand(EventCommandEventArgs command) =>
        Holding.Wait(command.Command == EventCommand.Enable ? "first-open" : "first-close");
}

/// <summary>It has the name of the listener of which the statuses of responses are asked.</summary>
public sealed class HeldListener() : DiagnosticListener("Microsoft.AspNetCore")
{
    sealed class Subscription(IDisposable of) : IDisposable
    {
        public void Dispose()
        {
            Holding.Wait("second-close");
            of.Dispose();
        }
    }

    public override IDisposable Subscribe(IObserver<KeyValuePair<string, object?>> observer, Predicate<string>? isEnabled)
    {
        Holding.Wait("second-open");
        return new Subscription(base.Subscribe(observer, isEnabled));
    }
}

/// <summary>What a monitor of the application's own (an APM) sees of its requests: /truth/apm tells what it has seen, and forgets it.</summary>
public sealed class Apm : IObserver<DiagnosticListener>, IObserver<KeyValuePair<string, object?>>
{
    static readonly ConcurrentQueue<object> Activities = new();
    static readonly ConcurrentDictionary<string, int> Events = new();
    static readonly ActivityListener Listener = new()
    {
        ShouldListenTo = source => source.Name is "Microsoft.AspNetCore" or "System.Net.Http",
        Sample = (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllDataAndRecorded,
        ActivityStopped = a => Activities.Enqueue(new
        {
            name = a.OperationName, trace = a.TraceId.ToHexString(), span = a.SpanId.ToHexString(), parent = a.ParentSpanId.ToHexString(),
            ms = a.Duration.TotalMilliseconds, tags = string.Join(" ", a.TagObjects.Select(t => t.Key).Order()), events = a.Events.Count(),
        }),
    };

    public static void Start()
    {
        ActivitySource.AddActivityListener(Listener);
        DiagnosticListener.AllListeners.Subscribe(new Apm());
        Ear.Kept = new Ear();
    }

    public static void Map(WebApplication app)
    {
        app.MapGet("/activity", () => Activity.Current?.Id ?? "none");
        app.MapGet("/truth/apm", () =>
        {
            var seen = new { activities = Activities.ToArray(), events = Events.ToArray().ToDictionary(), heard = Ear.Heard.ToArray().ToDictionary() };
            Activities.Clear();
            Events.Clear();
            Ear.Heard.Clear();
            return Results.Json(seen);
        });
    }

    public void OnNext(DiagnosticListener listener)
    {
        if (listener.Name == "Microsoft.AspNetCore")
            listener.Subscribe(this);
    }

    public void OnNext(KeyValuePair<string, object?> e) => Events.AddOrUpdate(e.Key, 1, (_, n) => n + 1);

    public void OnCompleted()
    {
    }

    public void OnError(Exception error)
    {
    }
}

/// <summary>Somebody in the process who listens by the same event source as a session does, with filters of its own.</summary>
public sealed class Ear : EventListener
{
    public static readonly ConcurrentDictionary<string, int> Heard = new();
    public static Ear? Kept;

    protected override void OnEventSourceCreated(EventSource source)
    {
        if (source.Name == "Microsoft-Diagnostics-DiagnosticSource")
            EnableEvents(source, EventLevel.Informational, (EventKeywords)2, new Dictionary<string, string?>
            {
                ["FilterAndPayloadSpecs"] = "HttpHandlerDiagnosticListener/System.Net.Http.HttpRequestOut.Stop:-Ok=Response.StatusCode",
            });
    }

    protected override void OnEventWritten(EventWrittenEventArgs e) => Heard.AddOrUpdate((e.Payload?[1] as string) ?? e.EventName ?? "", 1, (_, n) => n + 1);
}
