#include "agent/profilers/cpu/cpu_rules.h"

#include "agent/profilers/cpu/cpu_sentence.h"
#include "agent/profilers/cpu/cpu_start.h"

/* All shares are percent. */
#define FEW_OF_DUE 0.25         /* fewer samples than that part of what was due are no verdict */
#define FEW_DUE 50
#define LEAST_SAMPLES 20
#define METHOD_STANDS_OUT 20
#define LIBRARY_STANDS_OUT 30   /* of a type of .NET's libraries, where the application has no method that does */
#define WORK_STANDS_OUT 30      /* of what the application did not write itself */
#define SPINNING 20
#define TIGHT 80                /* in one function of the runtime that the application calls itself: more than allocation ever has */
#define MATCHING 20
#define MATCH_SECONDS 0.3       /* one match without an end: no pattern takes that long on an input that it was written for */
#define TIMES_CHANCE 2          /* than the longest stretch that many short ones would make */
#define CALL_SECONDS 3.0        /* in regular expressions of which it cannot be seen whether one match goes on */
#define ACCESS_SECONDS 1.0
#define ACCESS_ALONE_SECONDS 5.0
#define RUNNING_SECONDS 5
#define COMPILING_ON 10
#define SCHEDULING_CPUS 0.1     /* CPUs: of few requests on a full node it is 0.06 */
#define THROTTLED 10            /* of the limit's periods */
#define WAITING 20              /* of the time in which its threads could run */
#define WAITING_MOST 75
#define WAITED_SECONDS 1
#define NODE_PRESSURE 20        /* of the session */
#define NODE_UNSEEN 50          /* the same where its own waits are not known: a thread that waits keeps it up for as long */
#define NODE_OF_ITS_OWN 0.7     /* of the node's CPUs: then it waits for itself */
#define HEAPS_PER_CPU 1.5
#define GC_NOTABLE 10
#define OBSERVING 5

typedef const struct cpu_numbers cpu;

/* waits -------------------------------------------------------------------------------------------------------------- */

double cpu_rules_waiting(const struct cpu_numbers *n)
{
	double cpu_seconds = n->cpus_used * n->seconds;
	return n->waited_seconds > 0 ? 100 * n->waited_seconds / (n->waited_seconds + cpu_seconds) : 0;
}

/* Throttled threads wait, too: then the limit is what they wait for. */
static bool waits_for_node(cpu *n)
{
	bool others = n->cpus_used < NODE_OF_ITS_OWN * n->node_cpus && !(n->throttled_percent >= THROTTLED / 2);
	bool pressed = !rules_known(n->node_pressure_percent) || n->node_pressure_percent >= NODE_PRESSURE;
	return others && pressed && n->waited_seconds >= WAITED_SECONDS && cpu_rules_waiting(n) >= WAITING;
}

bool cpu_rules_uses_little(double cpus_used, double cpus_allowed)
{
	return cpus_used < CPU_IDLE || (cpus_used < CPU_IDLE_BESIDE && cpus_used < CPU_IDLE_PART * cpus_allowed);
}

static bool uses_little(cpu *n)
{
	return cpu_rules_uses_little(n->cpus_used, n->cpus_allowed);
}

/* Its threads' waits cannot be read, as of a process that has ended, and others on the node waited for long. */
static bool may_wait_unseen(cpu *n)
{
	return !rules_known(n->waited_seconds) && rules_known(n->node_pressure_percent) && n->node_pressure_percent >= NODE_UNSEEN;
}

/* One that gets no CPU is not idle. */
static bool idles(cpu *n)
{
	if (n->since_start) /* what comes before the first request is looked at, however little it is of the whole time */
		return false;
	return uses_little(n) && !waits_for_node(n) && !may_wait_unseen(n);
}

/* what they need ----------------------------------------------------------------------------------------------------- */

static bool too_few(cpu *n)
{
	bool of_due = n->samples_due >= FEW_DUE && n->samples < FEW_OF_DUE * n->samples_due;
	return n->samples > 0 && (of_due || n->samples < LEAST_SAMPLES);
}

static const char *needs_samples(const void *numbers)
{
	cpu *n = numbers;
	return idles(n) ? "too little CPU was used" : n->samples == 0 ? "no sample was taken" : too_few(n) ? "too few samples came" : NULL;
}

static const char *needs_own_waits(const void *numbers)
{
	cpu *n = numbers;
	return uses_little(n) && may_wait_unseen(n) ? "how long its threads waited for a CPU of the full node is not known" : NULL;
}

static const char *needs_age(const void *numbers)
{
	cpu *n = numbers;
	return rules_known(n->uptime_minutes) || cpu_numbers_compiles_on(n) ? needs_samples(numbers) : "when the process began is not known";
}

static const char *needs_time(const void *numbers)
{
	cpu *n = numbers;
	return n->seconds < RUNNING_SECONDS ? "the session was shorter than 5 seconds" : needs_samples(numbers);
}

static const char *needs_limit(const void *numbers)
{
	cpu *n = numbers;
	bool none = n->cpu_limited == 0;
	return rules_known(n->throttled_percent) || none ? NULL : "the container's CPU limit is not known";
}

static const char *needs_waits(const void *numbers)
{
	cpu *n = numbers;
	bool waits = rules_known(n->waited_seconds);
	return !waits ? "how long threads waited for a CPU is not known" : !rules_known(n->node_cpus) ? "the node's CPUs are not known" : NULL;
}

static const char *needs_allowed(const void *numbers)
{
	cpu *n = numbers;
	return rules_known(n->cpus_allowed) ? needs_samples(numbers) : "what CPUs it may use is not known";
}

/* tests -------------------------------------------------------------------------------------------------------------- */

static struct rule_score scored(bool found, double percent, int witnesses)
{
	return (struct rule_score){found ? rules_score(percent) : 0, witnesses};
}

static struct rule_score is_idle(const void *numbers)
{
	return scored(idles(numbers), 100, 2);
}

static struct rule_score has_no_samples(const void *numbers)
{
	cpu *n = numbers;
	return scored(n->samples == 0 && !idles(n), 100, 2);
}

static struct rule_score has_few_samples(const void *numbers)
{
	cpu *n = numbers;
	return scored(too_few(n) && !idles(n), 100, 2);
}

static struct rule_score spins(const void *numbers)
{
	cpu *n = numbers;
	bool tight = n->tight_percent >= TIGHT;
	if (n->spin_percent >= SPINNING)
		return scored(true, n->spin_percent, 1 + (n->spin_threads > 0));
	return scored(tight, n->tight_percent, 1);
}

static struct rule_score backtracks(const void *numbers)
{
	cpu *n = numbers;
	if (n->regex_percent >= MATCHING && n->regex_longest_seconds >= fmax(MATCH_SECONDS, TIMES_CHANCE * n->regex_chance_seconds))
		return scored(true, n->regex_percent, 2);
	/* few samples are left of a process that hardly gets to work, and of each match a part */
	if (n->regex_percent >= MATCHING && cpu_rules_waiting(n) >= WAITING_MOST &&
	    n->regex_longest_seconds >= fmax(MATCH_SECONDS / 2, 2 * TIMES_CHANCE * n->regex_chance_seconds))
		return scored(true, n->regex_percent, 1);
	bool call = n->regex_call_longest_seconds >= fmax(CALL_SECONDS, TIMES_CHANCE * n->regex_call_chance_seconds);
	return scored(n->regex_call_percent >= MATCHING && call, n->regex_call_percent, 1);
}

static struct rule_score misuses_dictionary(const void *numbers)
{
	cpu *n = numbers;
	bool several = n->dictionary_threads >= 2 && n->dictionary_longest_seconds >= ACCESS_SECONDS;
	bool alone = n->dictionary_threads == 1 && n->dictionary_longest_seconds >= ACCESS_ALONE_SECONDS;
	return scored(several || alone, n->dictionary_percent, several ? 2 : 1);
}

/* Work of the thread pool and of locks. What wakes a pool's thread now and then is much of a process that does little, and harms nobody. Without what
 * the application's own spinning takes, which has its own rule. */
static double scheduling(cpu *n)
{
	double rest = n->scheduling_percent - (spins(n).score ? n->spin_percent : 0);
	return rest * n->cpus_used >= 100 * SCHEDULING_CPUS ? rest : 0;
}

/* What the application did not write itself, most of which is where. Compilation in a process that is not young any more has a rule of its own. */
static double most_other_work(cpu *n)
{
	return fmax(fmax(fmax(n->gc_percent, n->jit_percent), fmax(n->type_loading_percent, scheduling(n))),
		    fmax(fmax(n->exceptions_percent, n->runtime_percent - (spins(n).score ? n->tight_percent : 0)), n->kernel_percent));
}

/* One library call of the method takes more than all compilation and makes some of it: that call is what costs ("new Regex"). What is compiled in the
 * background stands below nobody. */
static bool call_compiles(cpu *n)
{
	double compiling = n->jit_percent + n->type_loading_percent;
	return cpu_numbers_compiles_on(n) && compiling > 0 && n->method_compiled_percent * 5 >= compiling &&
	       n->callee_percent * 2 > n->method_percent && n->callee_percent > n->jit_percent;
}

static double illness_of_a_method(cpu *n)
{
	double most = 100 + 1;
	if (spins(n).score && spins(n).witnesses > 1)
		most = fmin(most, n->spin_percent);
	if (backtracks(n).score && backtracks(n).witnesses > 1)
		most = fmin(most, n->regex_percent);
	if (misuses_dictionary(n).score && misuses_dictionary(n).witnesses > 1)
		most = fmin(most, n->dictionary_percent);
	return most;
}

bool cpu_rules_in_library(const struct cpu_numbers *n)
{
	bool application = n->method.text[0] && n->method_of_application != 0 && n->method_caused_percent >= METHOD_STANDS_OUT;
	return !application && !(n->funnel_percent > 0) && n->library.text[0] && n->library_percent >= LIBRARY_STANDS_OUT;
}

/* As much as it works itself, so that the runtime's or the kernel's work leads where that is more; less than an illness that explains the same time. */
static struct rule_score is_hot(const void *numbers)
{
	cpu *n = numbers;
	if (cpu_rules_in_library(n)) {
		double beside = most_other_work(n) >= WORK_STANDS_OUT ? fmax(WORK_STANDS_OUT - 1, n->library_self_percent) : 100;
		return scored(true, fmin(fmin(n->library_percent, beside), illness_of_a_method(n) - 1), 2);
	}
	bool stands_out = n->method.text[0] && n->method_caused_percent >= METHOD_STANDS_OUT && n->method_caused_percent * 2 >= n->method_percent;
	double explains = call_compiles(n) ? n->method_percent : n->method_worked_percent;
	if (n->method_of_application == 0 && most_other_work(n) >= WORK_STANDS_OUT)
		explains = fmin(explains, WORK_STANDS_OUT - 1);
	return scored(stands_out, fmin(explains, illness_of_a_method(n) - 1), 2);
}

/* Not before the method in which most of the time is: that it has not returned is only possible. */
static struct rule_score runs_on(const void *numbers)
{
	cpu *n = numbers;
	int hot = is_hot(n).score;
	double percent = hot > 0 ? fmin(n->running_percent, hot) : n->running_percent;
	return scored(n->running_threads == 1 && n->running_seconds >= RUNNING_SECONDS, percent, 1);
}

static struct rule_score collects(const void *numbers)
{
	cpu *n = numbers;
	return scored(n->gc_percent >= WORK_STANDS_OUT, n->gc_percent, 2);
}

static double compiling(cpu *n)
{
	return fmax(n->jit_percent, n->type_loading_percent);
}

static struct rule_score warms_up(const void *numbers)
{
	cpu *n = numbers;
	return scored(!cpu_numbers_compiles_on(n) && compiling(n) >= WORK_STANDS_OUT, compiling(n), 1 + rules_known(n->uptime_minutes));
}

static struct rule_score compiles_on(const void *numbers)
{
	cpu *n = numbers;
	return scored(cpu_numbers_compiles_on(n) && compiling(n) >= COMPILING_ON, compiling(n), 2);
}

static struct rule_score throws(const void *numbers)
{
	cpu *n = numbers;
	return scored(n->exceptions_percent >= WORK_STANDS_OUT, n->exceptions_percent, 2);
}

static struct rule_score is_in_kernel(const void *numbers)
{
	cpu *n = numbers;
	return scored(n->kernel_percent >= WORK_STANDS_OUT, n->kernel_percent, 2);
}

static struct rule_score is_in_runtime(const void *numbers)
{
	cpu *n = numbers;
	double rest = n->runtime_percent - (spins(n).score ? n->tight_percent : 0);
	return scored(rest >= WORK_STANDS_OUT, rest, 2);
}

static struct rule_score schedules(const void *numbers)
{
	return scored(scheduling(numbers) >= WORK_STANDS_OUT, scheduling(numbers), 2);
}

/* Half: a limit only delays what methods use, and they are what can be changed. */
static struct rule_score is_throttled(const void *numbers)
{
	cpu *n = numbers;
	return scored(n->throttled_percent >= THROTTLED, n->throttled_percent / 2, 1 + (n->throttled_seconds > 0));
}

/* Half, as of throttling; all of it where the process hardly gets to work. */
static struct rule_score finds_node_full(const void *numbers)
{
	cpu *n = numbers;
	return scored(waits_for_node(n), cpu_rules_waiting(n) / (uses_little(n) ? 1 : 2), 1 + rules_known(n->node_pressure_percent));
}

static struct rule_score has_many_heaps(const void *numbers)
{
	cpu *n = numbers;
	bool many = n->cpu_limited > 0 && n->server_gc_threads >= 2 && n->server_gc_threads > HEAPS_PER_CPU * ceil(n->cpus_allowed);
	return scored(many, n->gc_percent, 1 + (n->gc_percent >= GC_NOTABLE));
}

static struct rule_score is_observed(const void *numbers)
{
	cpu *n = numbers;
	return scored(n->observer_percent >= OBSERVING, n->observer_percent, 2);
}

static struct rule_score is_spread(const void *numbers)
{
	return scored(is_hot(numbers).score == 0 && most_other_work(numbers) < WORK_STANDS_OUT, 1, 2);
}

/* Of two that explain as much the first one leads. */
const struct rule cpu_rules[CPU_RULE_COUNT] = {
	{"Idle", needs_own_waits, is_idle, cpu_says_idle},
	{"NoSamplesTaken", NULL, has_no_samples, cpu_says_no_samples},
	{"TooFewSamples", NULL, has_few_samples, cpu_says_few_samples},
	{"StartWaits", NULL, cpu_start_waits, cpu_says_start_waits},
	{"SpinningThreads", needs_samples, spins, cpu_says_spinning},
	{"RegexBacktracking", needs_samples, backtracks, cpu_says_backtracking},
	{"ConcurrentDictionaryMisuse", needs_samples, misuses_dictionary, cpu_says_dictionary},
	{"HotMethod", needs_samples, is_hot, cpu_says_hot},
	{"GarbageCollection", needs_samples, collects, cpu_says_collecting},
	{"WarmingUp", needs_samples, warms_up, cpu_says_warming_up},
	{"JitContinues", needs_age, compiles_on, cpu_says_compiling},
	{"ExceptionsThrown", needs_samples, throws, cpu_says_throwing},
	{"KernelTime", needs_samples, is_in_kernel, cpu_says_kernel},
	{"RuntimeWork", needs_samples, is_in_runtime, cpu_says_runtime},
	{"ThreadPoolAndLocks", needs_samples, schedules, cpu_says_scheduling},
	{"MethodThatHasNotReturned", needs_time, runs_on, cpu_says_running},
	{"CpuThrottled", needs_limit, is_throttled, cpu_says_throttled},
	{"NodeIsFull", needs_waits, finds_node_full, cpu_says_node_full},
	{"ServerGCInSmallContainer", needs_allowed, has_many_heaps, cpu_says_heaps},
	{"ObserverCost", needs_samples, is_observed, cpu_says_observed},
	{"CpuSpread", needs_samples, is_spread, cpu_says_spread},
};

/* Where timers in the process sampled. */
const struct rule_engines cpu_engines[] = {
	{"SpinningThreads", ENGINE_BIT(ENGINE_SAMPLING)},
	{"RegexBacktracking", ENGINE_BIT(ENGINE_SAMPLING)},
	{"ConcurrentDictionaryMisuse", ENGINE_BIT(ENGINE_SAMPLING)},
	{"HotMethod", ENGINE_BIT(ENGINE_SAMPLING)},
	{"GarbageCollection", ENGINE_BIT(ENGINE_SAMPLING)},
	{"WarmingUp", ENGINE_BIT(ENGINE_SAMPLING)},
	{"ExceptionsThrown", ENGINE_BIT(ENGINE_SAMPLING)},
	{"KernelTime", ENGINE_BIT(ENGINE_SAMPLING)},
	{"RuntimeWork", ENGINE_BIT(ENGINE_SAMPLING)},
	{"ThreadPoolAndLocks", ENGINE_BIT(ENGINE_SAMPLING)},
	{"CpuSpread", ENGINE_BIT(ENGINE_SAMPLING)},
	{NULL, 0},
};
