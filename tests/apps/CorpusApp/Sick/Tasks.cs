namespace Shop.Messaging
{
    using System.Collections.Concurrent;
    using Shop.Hosting;

    /// <summary>Requests and replies over a bus: an answer is found by its number, and two requests of one number lose the first one's.
    /// 666 quotes are lost so, and one order.</summary>
    [Load("task-lost")]
    sealed class RequestBus
    {
        readonly ConcurrentDictionary<int, TaskCompletionSource<string>> pending = new();

        public static void Start()
        {
            var bus = new RequestBus();
            var quotes = Enumerable.Range(0, 666).Select(_ => bus.QuoteAsync()).ToList();
            var order = bus.OrderAsync();
            bus.pending.Clear();
            Service.Every("keep", 1000, () => { GC.KeepAlive(quotes); GC.KeepAlive(order); });
        }

        Task<string> Send(int number, string what)
        {
            var reply = new TaskCompletionSource<string>(what);
            pending[number] = reply;
            return reply.Task;
        }

        async Task<int> QuoteAsync()
        {
            string answer = await Send(1, "quote");
            return answer.Length;
        }

        async Task<int> OrderAsync() => (await Send(2, "order")).Length;
    }

    /// <summary>Two parts of a start wait for each other's ready task, and all requests for both.</summary>
    [Load("task-ready")]
    static class Startup
    {
        static readonly TaskCompletionSource CacheReady = new(), IndexReady = new();

        public static void Start()
        {
            _ = FillCache();
            _ = BuildIndex();
            var asked = Enumerable.Range(0, 80).Select(HandleAsync).ToList();
            Service.Every("keep", 1000, () => GC.KeepAlive(asked));
        }

        static async Task FillCache()
        {
            await IndexReady.Task;
            CacheReady.SetResult();
        }

        static async Task BuildIndex()
        {
            await CacheReady.Task;
            IndexReady.SetResult();
        }

        static async Task<int> HandleAsync(int number)
        {
            await CacheReady.Task;
            return number;
        }
    }
}

namespace Shop.Payments
{
    using System.Threading.Channels;
    using Shop.Hosting;

    /// <summary>An exception between WaitAsync and the try: the semaphore is never given back, and the payments come on.</summary>
    [Load("task-semaphore")]
    static class CardGate
    {
        static readonly SemaphoreSlim Terminal = new(1, 1);
        static int number;

        public static void Start()
        {
            _ = PayAsync(-1);
            Service.Every("customers", 60, () => _ = PayAsync(Interlocked.Increment(ref number)));
        }

        static void Check(int amount) => ArgumentOutOfRangeException.ThrowIfNegative(amount);

        static async Task PayAsync(int amount)
        {
            await Terminal.WaitAsync();
            Check(amount);
            try
            {
                await Task.Delay(10);
            }
            finally
            {
                Terminal.Release();
            }
        }
    }

    /// <summary>Four may upload at a time, and each that is canceled keeps its place. Web requests behind it.</summary>
    [Load("task-places")]
    static class UploadEndpoint
    {
        static readonly SemaphoreSlim Places = new(4);
        static int number;

        public static async Task Start()
        {
            await Web.Serve(app => app.MapGet("/upload", () => Upload()), "/upload", 1, 50);
            string url = $"http://127.0.0.1:{Web.Port}/upload";
            var http = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = 2000 }) { Timeout = Timeout.InfiniteTimeSpan };
            Service.Requests(15, _ => http.GetStringAsync(url));
        }

        static async Task<string> Upload()
        {
            await Places.WaitAsync();
            await Task.Delay(20);
            if (Interlocked.Increment(ref number) % 3 == 0)
                return "canceled";
            Places.Release();
            return "done";
        }
    }

    /// <summary>The one that holds an asynchronous lock wants it once more, deep in its calls; all others stand behind.</summary>
    [Load("task-twice")]
    sealed class Wallet
    {
        readonly SemaphoreSlim mutex = new(1);

        public static void Start()
        {
            var wallet = new Wallet();
            _ = wallet.MoveAsync();
            Service.Every("customers", 100, () => _ = wallet.BalanceAsync());
        }

        async Task MoveAsync()
        {
            await mutex.WaitAsync();
            await Task.Yield();
            await BalanceAsync();
            mutex.Release();
        }

        async Task<int> BalanceAsync()
        {
            await mutex.WaitAsync();
            mutex.Release();
            return 1;
        }
    }

    /// <summary>Two connections at most, and a server that never answers: the others wait for a connection.</summary>
    [Load("task-connections")]
    static class FraudCheck
    {
        static readonly HttpClient Http = new(new SocketsHttpHandler { MaxConnectionsPerServer = 2 }) { Timeout = Timeout.InfiniteTimeSpan };

        public static void Start()
        {
            int port = Elsewhere.Start();
            var checks = Enumerable.Range(0, 64).Select(_ => CheckAsync(port)).ToList();
            Service.Every("keep", 1000, () => GC.KeepAlive(checks));
        }

        static async Task<bool> CheckAsync(int port)
        {
            string answer = await Http.GetStringAsync($"http://127.0.0.1:{port}/never");
            return answer == "1";
        }
    }

    /// <summary>The reader of a bounded channel ended with an exception; who writes waits for room for ever.</summary>
    [Load("task-channel")]
    static class Receipts
    {
        static readonly Channel<int> Queue = Channel.CreateBounded<int>(50);

        public static void Start()
        {
            _ = PrintAll();
            Service.Every("sales", 25, () => _ = PrintLater(Environment.TickCount));
        }

        static async Task PrintAll()
        {
            await foreach (int receipt in Queue.Reader.ReadAllAsync())
                if (receipt != 0)
                    throw new IOException("no paper");
        }

        static async Task PrintLater(int receipt) => await Queue.Writer.WriteAsync(receipt);
    }

    /// <summary>Threads of the application block on tasks that are never completed.</summary>
    [Load("task-blocked-threads")]
    static class Terminals
    {
        static readonly List<TaskCompletionSource<string>> Asked = new();

        public static void Start()
        {
            for (int i = 0; i < 5; i++)
                Service.Thread("terminal-" + i, () => ReadPin());
        }

        static string ReadPin() => PinAsync().GetAwaiter().GetResult();

        static async Task<string> PinAsync()
        {
            var pin = new TaskCompletionSource<string>();
            lock (Asked)
                Asked.Add(pin);
            return await pin.Task;
        }
    }

    /// <summary>Fire and forget: tasks that failed are kept in a list of what was begun, and nobody looks.</summary>
    [Load("task-failed")]
    static class Notifications
    {
        static readonly List<Task> Begun = new();

        public static void Start()
        {
            for (int i = 0; i < 300; i++)
                Begun.Add(NotifyAsync(i));
        }

        static async Task NotifyAsync(int customer)
        {
            await Task.Yield();
            throw new InvalidOperationException("customer " + customer);
        }
    }

    /// <summary>A search asks three sources, and one's event that would complete the task has been unsubscribed.</summary>
    [Load("task-whenall")]
    sealed class Search
    {
        sealed class Source
        {
            public event Action<int>? Found;

            public void Clear() => Found = null;

            public void Raise() => Found?.Invoke(1);
        }

        static readonly List<Task<int>> Running = new();

        public static void Start()
        {
            for (int i = 0; i < 120; i++)
                Running.Add(FindAsync());
        }

        static async Task<int> FindAsync()
        {
            int[] all = await Task.WhenAll(QuickAsync(), QuickAsync(), RemoteAsync(new Source()));
            return all.Sum();
        }

        static async Task<int> QuickAsync()
        {
            await Task.Yield();
            return 1;
        }

        static Task<int> RemoteAsync(Source source)
        {
            var result = new TaskCompletionSource<int>();
            source.Found += n => result.TrySetResult(n);
            source.Clear();
            source.Raise();
            return Await(result.Task);
        }

        static async Task<int> Await(Task<int> found) => await found + 1;
    }

    /// <summary>One token is fetched for all, and the fetch has lost its callback: 90 wait for the same task.</summary>
    [Load("task-token")]
    sealed class TokenSource
    {
        Task<string>? token;

        public static void Start()
        {
            var source = new TokenSource();
            var calls = Enumerable.Range(0, 90).Select(_ => source.CallAsync()).ToList();
            Service.Every("keep", 1000, () => GC.KeepAlive(calls));
        }

        async Task<int> CallAsync()
        {
            string value = await (token ??= FetchAsync());
            return value.Length;
        }

        static async Task<string> FetchAsync()
        {
            var answer = new TaskCompletionSource<string>();
            Ask(text => answer.SetResult(text));
            return "Bearer " + await answer.Task;
        }

        static void Ask(Action<string> whenDone) => GC.KeepAlive(whenDone);
    }
}
