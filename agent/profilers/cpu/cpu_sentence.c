#include "agent/profilers/cpu/cpu_sentence.h"

#include "agent/profilers/cpu/cpu_rules.h"
#include "agent/report/report.h"
#include "agent/stacks/cpu_phrase.h"
#include "agent/symbols/method_name.h"
#include "common/base/cleanup.h"
#include "common/base/size_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#define LITTLE_CPUS 0.1     /* less is little, whatever part of it is where */
#define THROTTLED_SAID 25   /* percent of the periods */
#define LEAST_NAME_CHARS 16 /* a shorter piece of a name tells nothing */

typedef const struct cpu_numbers cpu;

/* pieces of a sentence ----------------------------------------------------------------------------------------------- */

static size_t sentence_room(const struct buf *s)
{
	size_t used = phrase_chars(buf_str(s));
	return used < HEADLINE_MAX_CHARS ? HEADLINE_MAX_CHARS - used : 0;
}

/* Adds the phrase only when the sentence stays short enough. */
static void put_if_room(struct buf *s, const char *phrase)
{
	if (phrase_chars(phrase) <= sentence_room(s))
		buf_puts(s, phrase);
}

/* ", below Shop.Log.Flush", the name as short as it must be. */
static void put_sentence_place(struct buf *s, const char *before, const struct rule_text *name)
{
	if (!name->text[0] || sentence_room(s) < strlen(before) + LEAST_NAME_CHARS)
		return;
	buf_puts(s, before);
	method_name_shorten(name->text, sentence_room(s), s);
}

/* "JsonSerializer.Serialize", "Regex construction": type and method without namespace, arguments and parameters. */
static void put_brief(struct buf *out, const char *name)
{
	bool construction = strncmp(name, "new ", 4) == 0;
	char plain[RULE_TEXT_BYTES];
	size_t n = 0, depth = 0;
	for (const char *p = construction ? name + 4 : name; *p && *p != '(' && n + 1 < sizeof plain; p++) {
		bool opens = *p == '<' && n && (isalnum((unsigned char)plain[n - 1]) || plain[n - 1] == '_');
		depth += opens || (*p == '<' && depth);
		if (!depth)
			plain[n++] = *p;
		depth -= *p == '>' && depth;
	}
	plain[n] = '\0';
	const char *brief = plain + n;
	for (int parts = construction ? 1 : 2; brief > plain; brief--)
		if (brief[-1] == '.' && --parts == 0)
			break;
	buf_printf(out, "%s%s", brief, construction ? " construction" : "");
}

/* What puts a share into proportion: that more was wanted than was to be had, or that it is a share of next to nothing. */
static void put_proportion(cpu *n, struct buf *s)
{
	if (n->throttled_percent >= THROTTLED_SAID) {
		put_if_room(s, "; throttled");
		return;
	}
	if (!(n->cpus_used < LITTLE_CPUS))
		return;
	AUTO_BUF struct buf little;
	buf_init(&little, 64);
	buf_puts(&little, "; ");
	cpu_phrase_cpus(&little, n->cpus_used);
	buf_puts(&little, " CPUs in all");
	put_if_room(s, buf_str(&little));
}

static bool was_excluded(struct finding *f, const char *what)
{
	if (f->state == FINDING_EXCLUDED)
		finding_message(f, "%s", what);
	return f->state == FINDING_EXCLUDED;
}

/* "62% of CPU in the kernel, below Shop.Log.Flush", or what is excluded. */
static void say_share(cpu *n, struct finding *f, double percent, const char *excluded, const char *what, const char *before, const struct rule_text *below)
{
	AUTO_BUF struct buf s, share;
	buf_init(&s, FINDING_MESSAGE_SIZE);
	buf_init(&share, 32);
	phrase_percent(&share, percent);
	finding_evidence(f, "%s of the CPU", buf_str(&share));
	if (was_excluded(f, excluded))
		return;
	finding_evidence(f, "%.0f of %.0f samples", percent * n->samples / 100, n->samples);
	finding_place(f, below->text);
	buf_printf(&s, "%s of CPU in %s", buf_str(&share), what);
	put_sentence_place(&s, before, below);
	put_proportion(n, &s);
	finding_message(f, "%s", buf_str(&s));
}

/* about the session -------------------------------------------------------------------------------------------------- */

void cpu_says_idle(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	AUTO_BUF struct buf s;
	buf_init(&s, FINDING_MESSAGE_SIZE);
	cpu_phrase_cpus(&s, n->cpus_used);
	if (f->state == FINDING_EXCLUDED) /* all others stand on it */
		return;
	finding_evidence(f, "%s CPUs used, %.0f %s", buf_str(&s), n->samples, size_text_plural(n->samples, "sample", "samples"));
	buf_reset(&s);
	buf_puts(&s, "Idle: ");
	cpu_phrase_cpus(&s, n->cpus_used);
	if (rules_known(n->cpus_allowed))
		buf_printf(&s, " of %.1f", n->cpus_allowed);
	buf_printf(&s, " CPUs used in %.0f s", n->seconds);
	finding_message(f, "%s", buf_str(&s));
}

void cpu_says_no_samples(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	AUTO_BUF struct buf s;
	buf_init(&s, FINDING_MESSAGE_SIZE);
	cpu_phrase_cpus(&s, n->cpus_used);
	if (f->state != FINDING_EXCLUDED)
		finding_message(f, "%s CPUs were used, but no sample could be taken", buf_str(&s));
}

void cpu_says_few_samples(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	if (f->state == FINDING_EXCLUDED)
		return;
	if (n->samples_due > n->samples * 2)
		finding_message(f, "No verdict: %.0f sample%s came where %.0f were due", n->samples, size_text_plural(n->samples, "", "s"), n->samples_due);
	else
		finding_message(f, "No verdict: only %.0f sample%s came", n->samples, size_text_plural(n->samples, "", "s"));
}

/* methods ------------------------------------------------------------------------------------------------------------ */

void cpu_says_spinning(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	bool tight = f->state == FINDING_POSSIBLE && n->spin_percent < n->tight_percent;
	say_share(n, f, tight ? n->tight_percent : n->spin_percent, "spinning", "spinning, not in work", ": ", tight ? &n->tight_method : &n->spin_method);
	if (tight)
		finding_evidence(f, "%.0f%% of the samples in one function of the runtime, as Thread.SpinWait is", n->tight_percent);
	else if (f->state != FINDING_EXCLUDED)
		finding_evidence(f, "%.0f%% of the samples spin, %.0f thread%s hardly do%s anything else", n->spin_percent, n->spin_threads,
				 size_text_plural(n->spin_threads, "", "s"), size_text_plural(n->spin_threads, "es", ""));
}

void cpu_says_backtracking(const void *numbers, struct finding *f)
{
	static const char what[] = "regex backtracking";
	cpu *n = numbers;
	bool call = f->state == FINDING_POSSIBLE && n->regex_call_longest_seconds > n->regex_longest_seconds;
	say_share(n, f, call ? n->regex_call_percent : n->regex_percent, what, what, ", in ", call ? &n->regex_call_method : &n->regex_method);
	if (call)
		finding_evidence(f, "%.1f%% of the CPU in such calls, %.1f s of it at a stretch", n->regex_call_percent, n->regex_call_longest_seconds);
	else
		finding_evidence(f, "%.1f%% of the CPU in matching, %.2f s of it at a stretch", n->regex_percent, n->regex_longest_seconds);
}

void cpu_says_dictionary(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	AUTO_BUF struct buf s;
	buf_init(&s, FINDING_MESSAGE_SIZE);
	finding_evidence(f, "%.0f %s only in a Dictionary, up to %.1f s without leaving it", n->dictionary_threads,
			 size_text_plural(n->dictionary_threads, "thread", "threads"), n->dictionary_longest_seconds);
	if (n->dictionary_threads == 0)
		finding_evidence(f, "no thread is in one all the time");
	if (was_excluded(f, "a Dictionary that several threads change"))
		return;
	finding_place(f, n->dictionary_method.text);
	buf_printf(&s, "%.0f %s in a broken Dictionary", n->dictionary_threads, size_text_plural(n->dictionary_threads, "thread loops", "threads loop"));
	put_sentence_place(&s, ", in ", &n->dictionary_method);
	finding_message(f, "%s", buf_str(&s));
}

void cpu_says_hot(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	AUTO_BUF struct buf s, callee;
	buf_init(&s, FINDING_MESSAGE_SIZE);
	buf_init(&callee, FINDING_MESSAGE_SIZE);
	finding_evidence(f, "%.0f%% of %.0f samples at most in one method", n->method_percent, n->samples);
	if (was_excluded(f, "a single hot method"))
		return;
	if (cpu_rules_in_library(n)) {
		phrase_percent(&s, n->library_percent);
		buf_puts(&s, " of CPU in ");
		put_brief(&s, n->library.text);
		put_if_room(&s, "; no application method is on the stack");
		finding_evidence(f, "%.0f %s; the application's methods may be inlined into code that was generated", n->samples,
				 size_text_plural(n->samples, "sample", "samples"));
		finding_place(f, n->library.text);
		finding_message(f, "%s", buf_str(&s));
		return;
	}
	finding_evidence(f, "%.0f%% of %.0f samples, %.0f%% its own doing", n->method_percent, n->samples, n->method_caused_percent);
	finding_place(f, n->method.text);
	phrase_percent(&s, n->method_percent);
	buf_puts(&s, " of CPU in ");
	method_name_shorten(n->method.text, sentence_room(&s), &s);
	if (n->callee_percent * 2 > n->method_percent) {
		buf_puts(&callee, " (");
		put_brief(&callee, n->callee.text);
		buf_puts(&callee, ")");
		put_if_room(&s, buf_str(&callee));
	}
	if (n->handler.text[0]) {
		buf_reset(&callee);
		buf_puts(&callee, ", from ");
		put_brief(&callee, n->handler.text);
		put_if_room(&s, buf_str(&callee));
	}
	put_proportion(n, &s);
	finding_message(f, "%s", buf_str(&s));
}

void cpu_says_running(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	AUTO_BUF struct buf s;
	buf_init(&s, FINDING_MESSAGE_SIZE);
	finding_evidence(f, "%.0f %s in one method at all of their samples", n->running_threads,
			 size_text_plural(n->running_threads, "thread", "threads"));
	if (n->running_threads == 0)
		finding_evidence(f, "no thread is in one method all the time");
	if (was_excluded(f, "a call that does not return"))
		return;
	finding_evidence(f, "at all samples of one thread, for %.0f s", n->running_seconds);
	finding_place(f, n->running_method.text);
	buf_printf(&s, "Has not returned for %.0f s", n->running_seconds);
	put_sentence_place(&s, ": ", &n->running_method);
	finding_message(f, "%s", buf_str(&s));
}

void cpu_says_spread(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	AUTO_BUF struct buf s;
	buf_init(&s, FINDING_MESSAGE_SIZE);
	if (f->state == FINDING_EXCLUDED)
		return;
	if (n->funnel.text[0]) {
		buf_puts(&s, "No single hot spot; ");
		phrase_percent(&s, n->funnel_percent);
		buf_puts(&s, " passes through ");
		method_name_shorten(n->funnel.text, sentence_room(&s), &s);
	} else if (n->method.text[0]) {
		buf_puts(&s, "CPU is spread widely; most, ");
		phrase_percent(&s, n->method_percent);
		buf_puts(&s, ", in ");
		method_name_shorten(n->method.text, sentence_room(&s), &s);
	} else {
		buf_puts(&s, "CPU is spread widely, none of it in code that has a name");
	}
	put_proportion(n, &s);
	finding_evidence(f, "%.0f%% at most is one method's own doing", rules_known(n->method_caused_percent) ? n->method_caused_percent : 0);
	finding_place(f, n->funnel.text);
	finding_message(f, "%s", buf_str(&s));
}

/* the runtime and the kernel ----------------------------------------------------------------------------------------- */

void cpu_says_collecting(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	bool known = n->gc_below.text[0];
	say_share(n, f, n->gc_percent, "garbage collection", known ? "garbage collection" : "garbage collection: too much is allocated", ", triggered below ",
		  &n->gc_below);
}

void cpu_says_warming_up(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	bool jit = n->jit_percent >= n->type_loading_percent;
	const char *what = jit ? "JIT compilation (still warming up)" : "type loading (still warming up)";
	say_share(n, f, jit ? n->jit_percent : n->type_loading_percent, "warming up", what, ", below ", jit ? &n->jit_below : &n->type_loading_below);
	if (rules_known(n->uptime_minutes) && f->state == FINDING_EXCLUDED && n->uptime_minutes >= CPU_WARM_UP_MINUTES)
		finding_evidence(f, "it has run for %.0f %s", n->uptime_minutes, size_text_plural(n->uptime_minutes, "minute", "minutes"));
}

void cpu_says_compiling(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	bool jit = n->jit_percent >= n->type_loading_percent;
	say_share(n, f, jit ? n->jit_percent : n->type_loading_percent, "compilation that goes on", jit ? "JIT compilation" : "type loading", ", below ",
		  jit ? &n->jit_below : &n->type_loading_below);
	if (f->state != FINDING_EXCLUDED)
		finding_evidence(f, "JIT compilation %.0f%%, type loading %.0f%%, %.1f minutes after its start; %.0f%% of code that libraries generate",
				 n->jit_percent, n->type_loading_percent, rules_known(n->uptime_minutes) ? n->uptime_minutes : 0, n->generated_percent);
}

void cpu_says_throwing(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	say_share(n, f, n->exceptions_percent, "exceptions", "throwing and catching exceptions", ", below ", &n->exceptions_below);
}

void cpu_says_kernel(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	say_share(n, f, n->kernel_percent, "kernel time", "the kernel", ", below ", &n->kernel_below);
}

void cpu_says_runtime(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	say_share(n, f, n->runtime_percent, "the runtime's other work", "the runtime itself", ", below ", &n->runtime_below);
}

void cpu_says_scheduling(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	say_share(n, f, n->scheduling_percent, "the thread pool and locks", "the thread pool, spinning and locks, not in work", ", below ",
		  &n->scheduling_below);
}

/* the machine -------------------------------------------------------------------------------------------------------- */

void cpu_says_throttled(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	bool none = n->cpu_limited == 0;
	if (none && !rules_known(n->throttled_percent))
		finding_evidence(f, "no CPU limit");
	else
		finding_evidence(f, "stopped in %.0f%% of the limit's periods, %.1f s in all", n->throttled_percent,
				 rules_known(n->throttled_seconds) ? n->throttled_seconds : 0);
	if (!was_excluded(f, "CPU throttling"))
		finding_message(f, "Throttled: the limit of %.1f %s slows it down in %.0f%% of its periods",
				rules_known(n->cpus_allowed) ? n->cpus_allowed : 0, size_text_plural(n->cpus_allowed, "CPU", "CPUs"), n->throttled_percent);
}

void cpu_says_node_full(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	finding_evidence(f, "its threads waited %.1f s for a CPU and ran %.1f s", n->waited_seconds, n->cpus_used * n->seconds);
	if (was_excluded(f, "a full node"))
		return;
	finding_evidence(f, "they waited %.1f s and ran %.1f s, the process used %.1f of the node's %.0f CPUs%s", n->waited_seconds,
			 n->cpus_used * n->seconds, n->cpus_used, n->node_cpus,
			 n->throttled_percent == 0 ? ", and were not throttled" : "");
	finding_message(f, "The node is full: its threads waited for a CPU %.0f%% of the time", cpu_rules_waiting(n));
}

void cpu_says_heaps(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	finding_evidence(f, "%.0f %s of Server GC, %.1f %s allowed, %.0f%% of CPU in garbage collection", n->server_gc_threads,
			 size_text_plural(n->server_gc_threads, "thread", "threads"), n->cpus_allowed, size_text_plural(n->cpus_allowed, "CPU", "CPUs"),
			 n->gc_percent);
	if (!was_excluded(f, "too many heaps of Server GC"))
		finding_message(f, "Server GC has %.0f heaps in a container of %.1f %s", n->server_gc_threads, n->cpus_allowed,
				size_text_plural(n->cpus_allowed, "CPU", "CPUs"));
}

void cpu_says_observed(const void *numbers, struct finding *f)
{
	cpu *n = numbers;
	finding_evidence(f, "%.1f%% of %.0f samples in its modules and threads", n->observer_percent, n->samples);
	if (was_excluded(f, "the cost of an APM"))
		return;
	finding_place(f, n->observer.text);
	finding_message(f, "%.0f%% of CPU in %s, which observes the application", n->observer_percent, n->observer.text);
}
