"""What a case of the corpus is (tests/corpus/truth.py has them), and what of each profiler is a false alarm."""
import dataclasses

CPU, ALLOCS, LEAK, PAUSES, HEAP, STRINGS = "CPUHotpaths", "Allocations", "MemoryLeak", "RuntimePauses", "GCSurvivors", "DuplicatedStrings"
WAITS, THREADS, LOCKS, TASKS, THROWS, REQUESTS = "Waits", "Threads", "Deadlocks", "StuckTasks", "Exceptions", "SlowRequests"

NATIVE = r"\blib\w+\.so"
# What would be a false alarm of a healthy application: in its first line, and in ids and messages of findings.
ALARMS = {
    CPU: (r"backtrack", r"\bspin", r"livelock", r"exception|throw", r"(\bJIT|compil)(?!.*warming up)", r"not returned", r"lock contention", NATIVE),
    ALLOCS: (r"\bbox", r"large object heap"),
    LEAK: (r"(?<!no )(?<!no object )\bleaks?\b", r"\bgrows\b", r"pile up", r"fragmentation"),
    PAUSES: (r"GC\.Collect", r"\blate\b", r"near the memory limit|at the limit", r"too many heaps", r"stood still", r"suspen"),
    HEAP: (r"free space", r"fragment", r"\bleak", r"handle, or garbage"),
    STRINGS: (r"\bwaste",),
    WAITS: (r"starved|\bAll \d+ pool workers", r"contention", r"sync over async", r"synchronous I/O", r"Thread\.Sleep:", r"blocks [\d.]+ pool workers",
            r"for an event or the runtime", r"console output blocks", r"wait for a CPU.*limit"),
    THREADS: (r"zombie", r"multiply", r"finalizer blocked", r"starved", r"limit of threads", r"(?<!of )\b\d+ threads wait"),
    LOCKS: (r"(?<!no )\bdeadlock:", r"threads (may )?wait for a lock"),
    TASKS: (r"operations? (is|are|may be) stuck", r"SemaphoreSlim is not released", r"wait for an? \w+ connection", r"may block on", r"may be unobserved"),
    THROWS: (r"thrown and caught in", r"throwing takes", r"most in", r"asked again"),
    REQUESTS: (r"in flight, the oldest", r"% fail", r"calls a request", r"round trips", r"% of [\d,.]+ m?s (blocked, )?awaiting",
               r"blocks a thread", r"HTTP connection", r"queued for the thread pool", r"may hang", r"slow clients", r"sending the response",
               r"one client makes", r"DB connection"),
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
    last: int = 0  # version of .NET on which it is so; 0: on all

    def is_on(self, framework):
        return not self.last or int(framework[len("net"):].split(".")[0]) <= self.last

    @property
    def load(self):
        return self.app or self.name


def words(value):
    return (value,) if isinstance(value, str) else tuple(value)


def sick(name, profiler, truth, first, text=(), never=(), **more):
    return Case(name, profiler, truth, words(first), words(text), words(never), **more)


def well(name, profiler, truth, first=(), never=(), **more):
    return Case(name, profiler, truth, words(first), (), words(never), sick=False, **more)
