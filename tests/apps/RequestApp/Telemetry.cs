namespace Shop;

using System.Collections.Concurrent;
using System.Diagnostics;
using OpenTelemetry;
using OpenTelemetry.Trace;

/// <summary>OpenTelemetry itself, with what it has exported.</summary>
public static class Telemetry
{
    static readonly ConcurrentQueue<Activity> Spans = new();

    sealed class Exporter : BaseExporter<Activity>
    {
        public override ExportResult Export(in Batch<Activity> batch)
        {
            foreach (var span in batch)
                Spans.Enqueue(span);
            return ExportResult.Success;
        }
    }

    public static void Start(IServiceCollection services) => services.AddOpenTelemetry().WithTracing(tracing => tracing
        .AddAspNetCoreInstrumentation()
        .AddHttpClientInstrumentation()
        .AddProcessor(new SimpleActivityExportProcessor(new Exporter())));

    /// <summary>/truth/spans tells what was exported since it was last asked.</summary>
    public static void Map(WebApplication app) => app.MapGet("/truth/spans", () =>
    {
        var spans = new List<object>();
        while (Spans.TryDequeue(out var span))
            spans.Add(new
            {
                name = span.DisplayName,
                kind = span.Kind.ToString(),
                source = span.Source.Name,
                trace = span.TraceId.ToString(),
                span = span.SpanId.ToString(),
                parent = span.ParentSpanId.ToString(),
                status = span.Status.ToString(),
                tags = string.Join(",", span.TagObjects.Select(t => t.Key).Order()),
            });
        return Results.Json(spans);
    });
}
