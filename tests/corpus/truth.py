"""The truth about each application of the corpus (tests/apps/CorpusApp), written down from its source before any profiler looked at it.

A sick one: what is wrong with it, what its first line must name (all of `first`, regular expressions without regard to case), what the text of the
diagnosis must contain (`text`), what the first line must not say (`never`), and which finding report.json must have (`finding`: of its id or message).
A healthy one: why it looks ill, what its first line must say where there is only one right answer, and no alarm of its profiler (ALARMS) in the first
line or among the findings. A truth that turns out to be none is mended here, with the reason in the commit.
"""
import dataclasses

CPU, ALLOCS, LEAK, PAUSES, HEAP, STRINGS = "CPUHotpaths", "Allocations", "MemoryLeak", "RuntimePauses", "GCSurvivors", "DuplicatedStrings"

NATIVE = r"\blib\w+\.so"
# What would be a false alarm of a healthy application: in its first line, and in ids and messages of findings.
ALARMS = {
    CPU: (r"backtrack", r"\bspin", r"livelock", r"exception|throw", r"(\bJIT|compil)(?!.*warming up)", r"not returned", r"lock contention", NATIVE),
    ALLOCS: (r"\bbox", r"large object heap"),
    LEAK: (r"(?<!no )(?<!no object )\bleaks?\b", r"\bgrows\b", r"pile up", r"fragmentation"),
    PAUSES: (r"GC\.Collect", r"\blate\b", r"near the memory limit|at the limit", r"too many heaps", r"stood still", r"suspen"),
    HEAP: (r"free space", r"fragment", r"\bleak", r"handle, or garbage"),
    STRINGS: (r"\bwaste",),
}


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    profiler: str
    truth: str
    first: tuple = ()
    text: tuple = ()
    never: tuple = ()
    finding: str = ""
    sick: bool = True
    app: str = ""  # where several cases share one
    env: dict = dataclasses.field(default_factory=dict)
    memory: int = 0  # the limit in MB
    cpus: float = 0  # the limit that it gets when it runs, as a pod is resized
    seconds: int = 0  # the session's, where it is not the profiler's usual one here
    warm: int = 0  # seconds before the session

    @property
    def load(self):
        return self.app or self.name


def words(value):
    return (value,) if isinstance(value, str) else tuple(value)


def sick(name, profiler, truth, first, text=(), never=(), **more):
    return Case(name, profiler, truth, words(first), words(text), words(never), **more)


def well(name, profiler, truth, first=(), never=(), **more):
    return Case(name, profiler, truth, words(first), (), words(never), sick=False, **more)


NO_LEAK = r"no (object )?leak|no growth|nothing grew|too early|may grow|possibl|levels? off|levelled off|comes and goes|short-lived|decay|slow(s|ing) down"
CALM = r"No pause|median|paused|stopped"  # the line of an application whose pauses nobody need mind

SICK = (
    sick("regex-search", CPU, "backtracking in ProductFilter.IsPlain, of GET /products", r"IsPlain|ProductFilter|Regex", r"backtrack",
         (r"lambda_method", NATIVE),
         finding=r"backtrack"),
    sick("regex-logs", CPU, "backtracking in LogScrubber.Scrub, in a compiled expression", r"LogScrubber", r"backtrack", (NATIVE,), finding=r"backtrack"),
    sick("sort-prices", CPU, "PriceList.Cheapest sorts 20,000 prices for ten", r"Cheapest|Sort", r"sort", (r"lambda_method", r"spread widely", NATIVE)),
    # What the runtime inlines into the application's helper, it shows as that (.NET 8).
    sick("sort-ranking", CPU, "Ranking.Add sorts all scores for each one", r"Ranking\.Add|CompareTo|Every\.lambda \(List\.Sort\)", r"Ranking\.Add|List.*Sort",
         (NATIVE,)),
    sick("throw-parse", CPU, "StockFile.Quantity throws and catches a FormatException for each empty field", r"Quantit|StockFile", r"exception|throw",
         (NATIVE,),
         finding=r"exception"),
    sick("throw-async", CPU, "Gateway throws CardDeclinedException through four awaits", r"Gateway|PayAsync|SendAsync|RetryAsync|AuthorizeAsync|exception",
         r"exception|throw", (NATIVE,), finding=r"exception"),
    sick("spin-flag", CPU, "RobotArm.WaitUntilReady looks at a flag without a rest", r"RobotArm|WaitUntilReady", r"\bspin|busy.wait|livelock|not returned",
         (NATIVE,), finding=r"spin|livelock|not ?returned"),
    sick("spin-lock", CPU, "StockGate.Enter spins while the lock's owner sleeps", r"StockGate|Enter", r"\bspin|busy.wait|livelock|not returned", (NATIVE,),
         finding=r"spin|livelock|not ?returned"),
    sick("jit-expressions", CPU, "RuleEngine.Discount compiles an expression for each call", r"RuleEngine|Discount|\bJIT|compil",
         (r"RuleEngine|Discount|Every\.lambda \(Expression\.Compile\)", r"\bJIT|compil|dynamic"), (r"warming up", NATIVE),
         finding=r"jit|compil|dynamic", warm=8),
    sick("jit-regex", CPU, "NameSearch.Matches makes a compiled Regex for each request", r"NameSearch|Matches|\bJIT|compil",
         (r"NameSearch|Matches", r"\bJIT|compil|construct|dynamic"), (r"warming up", r"lambda_method", NATIVE),
         finding=r"jit|compil|dynamic|construct", warm=8),
    sick("box-metrics", ALLOCS, "Counters.Increment boxes a long for each count", r"Increment|Counters", (r"\bbox", r"long|Int64"), finding=r"box"),
    sick("box-keys", ALLOCS, "ShelfKey has no Equals: each look-up of Shelves.CountOn boxes it", r"CountOn|ShelfKey|Shelves", (r"ShelfKey",
         r"\bbox|IEquatable"),
         finding=r"box|equal"),
    sick("text-concat", ALLOCS, "CsvReport.Render puts a table together by +=", r"Render", (r"string", r"StringBuilder|concat")),
    sick("text-split", ALLOCS, "OrderFile.Parse splits each line into 24 strings", r"Parse|OrderFile", (r"string", r"span|split")),
    sick("loh-exports", ALLOCS, "PageWriter.WritePage makes a buffer of 256 KB each time; the runtime may inline it into its own Task.Execute",
         r"WritePage|byte\[\]", (r"WritePage|runtime has inlined the method", r"ArrayPool|rent|pool",
         r"large object"),
         finding=r"large|loh"),
    sick("linq-reports", ALLOCS, "SalesReport.TopSellers makes lists in between", (r"TopSellers",), r"Sale|List|Grouping|LINQ"),
    sick("static-audit", LEAK, "AuditLog.Entries is never emptied: 0.8 MB/s", (r"AuditLog|Entries|AuditEntry", r"grow|leak"), r"AuditLog\.Entries", r"no leak",
         finding=r"."),
    sick("static-sessions", LEAK, "SessionStore.Sessions is never emptied", (r"Session", r"grow|leak"), r"SessionStore\.Sessions|Sessions", r"no leak",
         finding=r"."),
    sick("event-prices", LEAK, "PriceBox subscribes to PriceFeed.Changed and never unsubscribes", (r"PriceFeed\.Changed|PriceBox", r"handler|event|grow"),
         r"PriceFeed.*Changed", r"no leak", finding=r"event|handler"),
    sick("event-lambda", LEAK, "BannerRenderer adds a lambda to the static event SettingsMonitor.Reloaded", (r"SettingsMonitor|Reloaded|BannerRenderer",
         r"handler|event|closure|grow"), r"Reloaded", r"no leak", finding=r"event|handler|closure"),
    sick("closure-callbacks", LEAK, "FeatureFlags.waiting keeps closures of Ask", (r"FeatureFlags|waiting|Ask", r"grow|leak|closure|pile"), r"closure|Ask",
         r"no leak",
         finding=r"closure|grow|leak"),
    sick("closure-continuations", LEAK, "CartWatcher.Open hangs continuations on a task that never ends", (r"CartWatcher|Closing|Open",
         r"grow|leak|closure|pile"),
         r"CartWatcher", r"no leak", finding=r"."),
    sick("timer-parcels", LEAK, "timers of ParcelTracker are never disposed of", (r"timer", r"ParcelTracker"), r"dispose", r"no leak", finding=r"timer"),
    sick("timer-couriers", LEAK, "CourierPresence.WatchAsync waits on PeriodicTimers for ever",
         (r"CourierPresence|WatchAsync", r"timer|grow|pile|await|never end"), r"timer", r"no leak", finding=r"timer|async|state"),
    sick("cts-linked", LEAK, "SuggestEndpoint links CancellationTokenSources that are never disposed of", (r"cancellation|SuggestEndpoint", r"grow|pile|leak"),
         r"dispose", r"no leak", finding=r"cancell|cts"),
    sick("cts-register", LEAK, "IndexWriter.Open registers with the application's token for ever", (r"cancellation|IndexWriter", r"grow|pile|leak"),
         (r"dispose", r"IndexWriter"), r"no leak", finding=r"cancell|cts"),
    sick("di-transient", LEAK, "the root provider holds each transient SmtpConnection", (r"SmtpConnection|container|provider", r"grow|pile|leak|hold"),
         (r"SmtpConnection", r"container|provider|scope"), r"no leak", finding=r"container|dispos|provider|scope"),
    sick("di-scopes", LEAK, "Campaign.Running keeps scopes that are never disposed of", (r"Campaign|Running|scope", r"grow|pile|leak|hold"),
         r"Campaign\.Running|Running",
         r"no leak", finding=r"."),
    sick("ef-import", LEAK, "the context of OrderImport tracks each order", (r"OrderImport|ShopContext|track|Order\b", r"grow|pile|leak|track"),
         (r"track|ShopContext|DbContext",), r"no leak", finding=r"track|context|entit"),
    sick("ef-singleton", LEAK, "OrderRepository's context tracks all that was read", (r"OrderRepository|OrdersEndpoint|ShopContext|track|Order\b",
         r"grow|pile|leak|track"), (r"track|ShopContext|DbContext",), r"no leak", finding=r"track|context|entit"),
    sick("plugin-cache", LEAK, "CouponRules.Types keeps the types of contexts that should unload",
         (r"AssemblyLoadContext|load context|PluginContext|CouponRules",
         r"unload|grow|pile|leak"), r"CouponRules\.Types|Types", r"no leak", finding=r"load ?context|assembl"),
    sick("plugin-event", LEAK, "PluginHost.Pricing keeps the objects of plug-ins that should unload",
         (r"AssemblyLoadContext|load context|PluginContext|PluginHost",
         r"unload|grow|pile|leak"), r"Pricing", r"no leak", finding=r"load ?context|assembl"),
    sick("async-waiters", LEAK, "ConfirmationBus.PlaceAsync awaits confirmations that never come, held by pending", (r"ConfirmationBus|PlaceAsync|pending",
         r"grow|pile|leak|await|wait|never end"), r"PlaceAsync", r"no leak", finding=r"."),
    sick("async-semaphore", LEAK, "CardTerminal.ChargeAsync awaits a semaphore that nobody releases", (r"CardTerminal|ChargeAsync",
         r"grow|pile|leak|await|wait|never end"),
         r"ChargeAsync", r"no leak", finding=r"."),
    sick("native-images", LEAK, "Thumbnails.Render does not free native memory", (r"unmanaged|native", r"grow|leak"), (), r"no leak|types only", finding=r"."),
    sick("native-fonts", LEAK, "FontRegistry.Fonts holds handles whose native memory grows: 40 KB each", (r"unmanaged|native|FontRegistry", r"grow|leak"),
         r"unmanaged|native", r"no leak", finding=r"."),
    sick("collect-batches", PAUSES, "CartSweeper.Sweep calls GC.Collect six times a second", r"GC\.Collect|Sweep|asked|induced|forced", (r"Sweep",
         r"GC\.Collect"),
         finding=r"collect|induced"),
    sick("collect-health", PAUSES, "MemoryHealth.Check collects by GetTotalMemory(true)", r"GC\.Collect|GetTotalMemory|Check|asked|induced|forced",
         r"MemoryHealth|Check", finding=r"collect|induced|total"),
    sick("late-scanner", PAUSES, "CompareFrames can not be interrupted for many ms: each pause waits for it",
         r"BarcodeScanner|ScanShelf|barcode-scanner|do not stop|late|suspend|until all threads|wait",
         (r"ScanShelf|BarcodeScanner|barcode-scanner",), finding=r"late|suspen|stop"),
    sick("late-matcher", PAUSES, "Fill can not be interrupted for many ms",
         r"ImageMatcher|Compare|Fill|image-matcher|do not stop|late|suspend|until all threads|wait",
         (r"ImageMatcher|Compare|Fill|image-matcher",), finding=r"late|suspen|stop"),
    # The runtime never makes more heaps than it sees processors, whatever GCHeapCount says: there are too many where the limit falls afterwards.
    sick("server-heaps", PAUSES, "Server GC began with a heap for each of 2 processors; then the limit was set to 1", r"heaps|Server GC|quota|by allocation",
         (r"heaps|Server GC",), (r"take Server GC|use Server GC",), env={"DOTNET_gcServer": "1"}, cpus=1, finding=r"heap"),
    sick("server-heaps-import", PAUSES, "the same of an import that allocates 500 MB/s", r"heaps|Server GC|quota|by allocation", (r"heaps|Server GC",),
         (r"take Server GC|use Server GC",), app="text-split", env={"DOTNET_gcServer": "1"}, cpus=1, finding=r"heap"),
    sick("gen2-midlife", PAUSES, "entries live just long enough to survive: long collections of generation 1, and of 2, none in the background",
         r"gen(eration)? ?[12]|full|block|collections|surviv", r"gen 1", env={"DOTNET_gcConcurrent": "0"},
         finding=r"gen|collect|surviv|block|concurrent|alloc"),
    sick("gen2-loh", PAUSES, "large arrays cause full collections one after the other", r"gen(eration)? ?2|large|full|paus", r"large|LOH",
         finding=r"large|gen2|loh|full",
         env={"DOTNET_gcConcurrent": "0"}),
    sick("pinned-receive", HEAP, "pinned buffers of Receiver keep holes in the heap: 3,000 of 512 bytes with 32 KB of nothing in between",
         r"free|fragment|pinned|Receiver", r"pinned", finding=r"pin|fragment|free"),
    sick("handle-uploads", HEAP, "GCHandles hold 2,500 Uploads, 50 MB", (r"handle", r"Upload"), r"GCHandle|handle", r"several roots", finding=r"."),
    sick("held-orders", HEAP, "OrderProjection.Current holds the book of orders", r"OrderProjection|OrderBook|OrderLine",
         r"OrderProjection\.Current|OrderProjection",
         r"Socket|several roots", finding=r"."),
    sick("held-watches", HEAP, "WatchService.Board's event holds 10,000 Watches", r"WatchService|PriceBoard|Watch", r"PriceBoard|Changed",
         r"Socket|several roots",
         finding=r"."),
    sick("dup-customers", STRINGS, "three equal strings for each of 60,000 customers, in Currency, Segment, City and Country", (r"wast|duplicat", r"MB|KB|%"),
         r"Customer|Address|Country|Segment", finding=r"."),
    sick("dup-texts", STRINGS, "TextCache.Texts holds 40,000 equal texts", r"wast|duplicat", r"TextCache|Texts|Dictionary", finding=r"."),
    sick("dup-columns", STRINGS, "keys of 15,000 dictionaries are the same four names", r"wast|duplicat", r"Entry\[\]\.key|Rows|keys", finding=r"."),
    sick("dup-tags", STRINGS, "arrays of the same tags 30,000 times", r"wast|duplicat", r"string\[\]|TagIndex|Tags", finding=r"."),
)

HEALTHY = (
    well("busy-simulation", CPU, "one thread computes by design", r"Step|DemandModel"),
    well("regex-sound", CPU, "a linear expression, a fifth of a processor"),
    well("spin-brief", CPU, "SpinWait that yields soon; the work is DemandModel.Step", r"Step|DemandModel|idle|SpinOnce|Handover"),
    well("exceptions-few", CPU, "some exceptions a second beside real work, and as much in the kernel, for sockets",
         r"Step|DemandModel|Lookups|Find|the kernel", warm=15),
    well("web-mixed", CPU, "a web service that sorts and serializes", (), (r"lambda_method",), warm=15),
    well("sort-small", CPU, "a small sort beside a little work: 0.05 CPUs in all", r"Step|DemandModel|Basket|Idle"),
    well("apm-beside", CPU, "an APM's thread takes some percent, the work most", r"Step|DemandModel"),
    well("workers-idle", CPU, "500 threads that wait", r"idle|hardly|few|no verdict|0\.0|waits?\b|CPU use does not"),
    well("long-polls", CPU, "1,000 tasks that wait", r"idle|hardly|few|no verdict|0\.0|waits?\b|CPU use does not"),
    well("throw-startup", CPU, "500 exceptions at the start, none since", r"Step|DemandModel|SettingsProbe"),
    well("lock-shared", CPU, "a lock held for microseconds", r"Step|DemandModel|Tally"),
    well("compile-per-request", CPU, "ten small rules a second are compiled: little", (), warm=15),
    well("pool-large", ALLOCS, "large buffers, rented: nothing to speak of is allocated", r"hardly|no sample|little|KB/s|[0-9.]+ KB"),
    well("spans-only", ALLOCS, "no allocation", r"hardly|no sample|little|KB"),
    well("garbage-mild", ALLOCS, "0.7 MB/s of young garbage", r"hardly|little|Proxy|Requests|Start"),
    well("garbage-startup", ALLOCS, "much at the start, nothing since", r"hardly|no sample|little|KB"),
    well("pool-buffers", ALLOCS, "rented buffers", r"hardly|no sample|little|KB|ReceiptPrinter|Start|Requests|MB/s"),
    well("cache-warming", LEAK, "a cache of at most 6,000 entries that fills ever slower", NO_LEAK, warm=3),
    well("cache-popular", LEAK, "a cache that fills at a decaying pace", NO_LEAK, warm=3),
    well("cache-full", LEAK, "a full cache: one comes, one goes", NO_LEAK),
    well("cache-weak", LEAK, "weak references", NO_LEAK),
    well("heap-high", LEAK, "150 MB that stay the same", NO_LEAK),
    well("startup-spike", LEAK, "much memory at the start, nothing stays", NO_LEAK, warm=3),
    well("batch-invoices", LEAK, "gathers 3 MB and lets them go", NO_LEAK),
    well("sawtooth-journal", LEAK, "a sawtooth of seven seconds", NO_LEAK),
    well("queue-bounded", LEAK, "a queue of at most 2,000", NO_LEAK),
    well("plugins-unload", LEAK, "each plug-in's context is unloaded", NO_LEAK),
    well("compile-templates", LEAK, "collectible assemblies, the last ten are kept", NO_LEAK),
    well("events-unsubscribed", LEAK, "subscribes and unsubscribes", NO_LEAK),
    well("timers-disposed", LEAK, "timers, sources and registrations are disposed of", NO_LEAK),
    well("scopes-disposed", LEAK, "scopes are disposed of", NO_LEAK),
    well("ef-contexts", LEAK, "a context for each unit of work", NO_LEAK),
    well("workers-idle-memory", LEAK, "500 threads that wait", NO_LEAK, app="workers-idle"),
    well("long-polls-memory", LEAK, "1,000 tasks that wait, each with 4 KB", NO_LEAK, app="long-polls"),
    well("pool-buffers-memory", LEAK, "a pool that has reached its size", NO_LEAK, app="pool-buffers"),
    well("collect-seldom", PAUSES, "a background collection each six seconds, of a small heap", CALM, (r"remove the calls",)),
    well("gen0-cheap", PAUSES, "young collections of less than a millisecond or two", CALM),
    well("server-fitting", PAUSES, "Server GC with as many heaps as processors", CALM, (r"take Server GC|use Server GC|too many",),
         env={"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2"}),
    well("server-asked-for-more", PAUSES, "GCHeapCount asks for 12 heaps on 2 processors, and the runtime makes 2", CALM,
         (r"take Server GC|use Server GC|too many|heaps on",), app="server-fitting", env={"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "c"}),
    well("background-gc", PAUSES, "a heap with collections in the background", CALM),
    well("workers-idle-pauses", PAUSES, "500 threads that wait: stopping them is quick", CALM, app="workers-idle"),
    well("cache-full-heap", HEAP, "24 MB in a cache that is meant to be there", r"RecentCache|Cards|ProductCard", app="cache-full"),
    well("heap-high-survivors", HEAP, "150 MB of a catalog that is meant to be there", r"WholeCatalog|ProductCard", app="heap-high"),
    well("pinned-meant", HEAP, "buffers on the pinned object heap", r"ReceiveBuffers|byte\[\]"),
    well("strings-interned", STRINGS, "countries are interned: one string each", r"cost little|no two|small|little"),
    well("strings-unique", STRINGS, "120,000 different strings", r"cost little|no two|small|little"),
    well("strings-few", STRINGS, "500 equal ones of 100,000", r"cost little|no two|small|little"),
)
CASES = SICK + HEALTHY
