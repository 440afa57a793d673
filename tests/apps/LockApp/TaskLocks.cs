// Circles that lead over tasks: a thread holds a lock and blocks until a task is complete, and the thread that runs the task wants that lock. And what looks
// like it: tasks that others run, that have been left and will go on, or that end.
namespace Shop;

using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using Checkout;

public static class TaskLocks
{
    static readonly object Gate = new();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Count()
    {
        lock (Gate)
            Progress.Count();
        return 1;
    }

    /// <summary>A thread takes the lock, and only then the work that needs it is begun.</summary>
    static object Ask(Action wait, int threads = 2)
    {
        Program.Settle([Program.Start("asker", () => { lock (Gate) wait(); })]);
        Thread.Sleep(500); // until who runs the task waits, too
        return new { circles = 1, threads };
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static Task<int> Start() => Task.Factory.StartNew(Count, TaskCreationOptions.LongRunning);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void WaitFor(Task work) => work.Wait();

    /// <summary>The lock's holder waits for a task whose thread wants the lock.</summary>
    public static object Delegate() => Ask(() => WaitFor(Start()));

    /// <summary>The same for ten minutes at most.</summary>
    public static object Bounded() => Ask(() => Start().Wait(600_000));

    /// <summary>The same until somebody cancels, which nobody does.</summary>
    public static object Cancelable()
    {
        var source = new CancellationTokenSource();
        object details = Ask(() => Start().Wait(source.Token));
        GC.KeepAlive(source);
        return details;
    }

    /// <summary>The holder waits for three tasks, of which two are complete.</summary>
    public static object All() => Ask(() => Task.WaitAll(Task.CompletedTask, Start(), Task.FromResult(1)));

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<int> ReadAsync()
    {
        await Task.Yield();
        return Count();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<int> LoadAsync() => 1 + await ReadAsync().ConfigureAwait(false);

    /// <summary>The holder blocks on an async method, which awaits another one that wants the lock on a worker of the pool.</summary>
    public static object Async() => Ask(() => LoadAsync().GetAwaiter().GetResult());

    /// <summary>The holder blocks on an async lambda of Task.Run that wants the lock before its first await.</summary>
    public static object Unwrapped() => Ask(() => Task.Run(async () => { int n = Count(); await Task.Yield(); return n; }).Wait());

    /// <summary>The body of a parallel loop wants the lock that is held around the loop.</summary>
    public static object Parallel() => Ask(() => System.Threading.Tasks.Parallel.For(0, 2, _ =>
    {
        if (!Monitor.IsEntered(Gate))
            Count();
        else
            Thread.Sleep(200); // so that another thread takes the other half
    }));

    /// <summary>Three threads: who runs the task wants a lock whose holder wants the first one.</summary>
    public static object Detour()
    {
        object other = new();
        var held = new ManualResetEventSlim();
        var asked = new ManualResetEventSlim();
        Program.Start("third", () => { lock (other) { held.Set(); asked.Wait(); Count(); } });
        held.Wait();
        return Ask(() => WaitFor(Task.Factory.StartNew(() => { asked.Set(); lock (other) Progress.Count(); }, TaskCreationOptions.LongRunning)), 3);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Answer(NetworkStream stream) => stream.ReadByte();

    /// <summary>Three wait for a lock whose holder waits for a task, which waits for the answer of a server that does not come.</summary>
    public static object Chain()
    {
        var server = new TcpListener(IPAddress.Loopback, 0);
        server.Start();
        int port = ((IPEndPoint)server.LocalEndpoint).Port;
        var client = new TcpClient("127.0.0.1", port);
        Ask(() => WaitFor(Task.Factory.StartNew(() => Answer(client.GetStream()), TaskCreationOptions.LongRunning)));
        Program.Settle(Enumerable.Range(0, 3).Select(i => Program.Start("request-" + i, () => Count())).ToArray());
        return new { queue = 3, port };
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Begin(TaskCompletionSource<Task> begun)
    {
        Task work = Task.Factory.StartNew(() => Thread.Sleep(600_000), TaskCreationOptions.LongRunning);
        begun.SetResult(work);
        Thread.Sleep(200);
        Count();
        GC.KeepAlive(work);
    }

    /// <summary>Healthy: the lock's holder waits for a task that ends; who has begun it, in a task, too, wants the lock, but a third thread runs it.</summary>
    public static object Begun()
    {
        var begun = new TaskCompletionSource<Task>();
        return Ask(() =>
        {
            Task.Factory.StartNew(() => Begin(begun), TaskCreationOptions.LongRunning);
            WaitFor(begun.Task.Result);
        });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task PauseAsync(CountdownEvent left)
    {
        await Task.Yield();
        Thread.Sleep(20);
        left.Signal();
        await Task.Delay(600_000).ConfigureAwait(false);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Keep(Task other)
    {
        Count();
        GC.KeepAlive(other);
    }

    static async Task KeepAsync(Task other)
    {
        await Task.Yield();
        Keep(other);
    }

    /// <summary>Healthy: the lock's holder waits for methods that go on when their time has come; the workers that have run their first part want the lock
    /// in another one, and have these at hand.</summary>
    public static object Left()
    {
        const int Workers = 8;
        ThreadPool.SetMinThreads(Workers, 4);
        var left = new CountdownEvent(Workers);
        return Ask(() =>
        {
            Task[] all = Enumerable.Range(0, Workers).Select(_ => PauseAsync(left)).ToArray();
            left.Wait();
            for (int i = 0; i < Workers; i++)
                _ = KeepAsync(all[i]);
            Task.WhenAll(all).Wait();
        });
    }

    /// <summary>Healthy: five threads that in turn hold a lock while they wait for a task, which needs another busy lock.</summary>
    public static object Turns()
    {
        object busy = new();
        long total = 0;
        for (int i = 0; i < 5; i++)
            Program.Start("turn-" + i, () => { for (;;) lock (Gate) Task.Run(() => { for (int n = 0; n < 100; n++) lock (busy) total++; }).Wait(); });
        for (int i = 0; i < 2; i++)
            Program.Start("adder-" + i, () => { for (;;) lock (busy) total++; });
        return new { };
    }

    /// <summary>Healthy: the same over async methods that wait for the busy lock on a worker.</summary>
    public static object AsyncTurns()
    {
        object busy = new();
        long total = 0;
        async Task<long> Add()
        {
            await Task.Yield();
            lock (busy)
                return ++total;
        }
        for (int i = 0; i < 5; i++)
            Program.Start("turn-" + i, () => { for (;;) lock (Gate) Add().GetAwaiter().GetResult(); });
        for (int i = 0; i < 2; i++)
            Program.Start("adder-" + i, () => { for (;;) lock (busy) total++; });
        return new { };
    }

    /// <summary>Healthy: twelve threads of which four may work at a time.</summary>
    public static object Throttle()
    {
        var slots = new SemaphoreSlim(4, 4);
        for (int i = 0; i < 12; i++)
            Program.Start("job-" + i, () => { for (;;) { slots.Wait(); Thread.Sleep(5); Progress.Count(); slots.Release(); } });
        return new { };
    }

    /// <summary>Healthy: a short queue between two producers and four consumers; one lock guards what each has done.</summary>
    public static object Belt()
    {
        var belt = new System.Collections.Concurrent.BlockingCollection<int>(2);
        for (int i = 0; i < 2; i++)
            Program.Start("producer-" + i, () => { for (int n = 0; ; n++) belt.Add(n); });
        for (int i = 0; i < 4; i++)
            Program.Start("consumer-" + i, () => { for (;;) { belt.Take(); Count(); Thread.Sleep(1); } });
        return new { };
    }
}
