#include "agent/profilers/cpu/cpu_start.h"

#include "agent/report/phrase.h"
#include "agent/report/report.h"
#include "agent/symbols/method_name.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <string.h>

#define LISTED 24           /* waits, in report.json */
#define SAID 3              /* in the diagnosis */
#define SAID_PERCENT 2.0
#define NAME_CHARS 70
#define LEAST_SECONDS 1.0   /* a start that is quicker needs no doctor */
#define STUCK_SECONDS 5.0   /* without a port */
#define WAITING 30.0        /* percent of the time until the port listened */
#define STUCK 50.0
#define MOSTLY 50.0
#define BOTH_MOST 115.0     /* percent that waiting and computing may be together: more, and one of the two is wrong */

/* the time --------------------------------------------------------------------------------------------------------- */

/* Until the port listened; without one, as long as the main thread was looked at. 0: neither is known. */
static int64_t start_time_ns(const struct capture_start *s)
{
	return s->listens_ns ? s->listens_ns : s->looked.to_ns;
}

static double part_of_start(const struct capture_start *s, double ns)
{
	return start_time_ns(s) > 0 ? 100 * ns / (double)start_time_ns(s) : 0;
}

static double seconds_of(int64_t ns)
{
	return (double)ns / 1e9;
}

static double waited_ns(const struct capture_start *s)
{
	double sum = 0;
	for (size_t i = 0; i < s->wait_count; i++)
		sum += (double)s->waits[i].ns;
	return sum;
}

/* what it computed ------------------------------------------------------------------------------------------------- */

enum start_work { WORK_OF_ALL, WORK_OF_JIT, WORK_OF_TYPES, WORK_OF_SERVICES, WORK_OF_CONFIGURATION, START_WORKS };

struct start_cpu {
	double ns[START_WORKS]; /* of the main thread, and of the pool's while the main thread waits for a task */
	double all_ns;          /* of all threads */
};

static bool in_spans(const struct capture_span *list, size_t count, int64_t at_ns)
{
	for (size_t i = 0; i < count; i++)
		if (at_ns >= list[i].from_ns && at_ns < list[i].to_ns)
			return true;
	return false;
}

static bool is_on_path(const struct cpu_capture *c, const struct capture_sample *x)
{
	const struct capture_thread *t = &c->threads[x->thread];
	bool worker = strncmp(t->name, ".NET TP Worker", 14) == 0;
	return t->tid == c->start.main_tid || (worker && in_spans(c->start.awaits, c->start.await_count, x->time_ns));
}

/* Whether a method of such a type is on the stack. */
static bool stack_has(const struct cpu_capture *c, uint32_t stack, const char *type)
{
	const struct capture_stack *s = &c->stacks[stack];
	for (uint32_t i = 0; i < s->depth; i++) {
		const struct frame *f = &c->frames[c->stack_frames[s->first + i]];
		if (f->kind == FRAME_MANAGED && f->type && strncmp(f->type, type, strlen(type)) == 0)
			return true;
	}
	return false;
}

static void sum_start_cpu(const struct cpu_analysis *a, struct start_cpu *out)
{
	const struct cpu_capture *c = a->capture;
	double ns = (double)a->period_ns;
	*out = (struct start_cpu){0};
	for (size_t i = 0; i < c->sample_count && c->samples[i].time_ns < start_time_ns(&c->start); i++) {
		const struct capture_sample *x = &c->samples[i];
		enum cpu_category k = (enum cpu_category)a->sample_category[i];
		out->all_ns += ns;
		if (!is_on_path(c, x))
			continue;
		out->ns[WORK_OF_ALL] += ns;
		out->ns[WORK_OF_JIT] += k == CATEGORY_JIT ? ns : 0;
		out->ns[WORK_OF_TYPES] += k == CATEGORY_TYPE_LOADING ? ns : 0;
		out->ns[WORK_OF_SERVICES] += stack_has(c, x->stack, "Microsoft.Extensions.DependencyInjection.") ? ns : 0;
		out->ns[WORK_OF_CONFIGURATION] += stack_has(c, x->stack, "Microsoft.Extensions.Configuration.") ? ns : 0;
	}
}

/* words ------------------------------------------------------------------------------------------------------------ */

/* "waiting for 10.0.3.7:5432", "sleeping". */
static void put_wait(const struct capture_start_wait *w, struct buf *out)
{
	static const struct {
		const char *kind, *phrase;
	} phrases[] = {
		{"lock", "waiting for a lock"}, {"task", "waiting for asynchronous work"}, {"console", "writing to the console"}, {"sleep", "sleeping"},
		{"event", "waiting for another thread"}, {"runtime", "waiting in the runtime"}, {"fault", "waiting for pages of memory"},
		{"native", "waiting in native code"}, {"unknown", "waiting"},
	};
	if (w->peer[0]) {
		buf_printf(out, "waiting for %s", w->peer);
		return;
	}
	for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
		if (strcmp(w->kind, phrases[i].kind) == 0) {
			buf_puts(out, phrases[i].phrase);
			return;
		}
	bool lookup = strcmp(w->what, "name lookup") == 0;
	buf_printf(out, "waiting for %s", lookup ? "a name lookup (DNS)" : strcmp(w->kind, "socket") == 0 ? "the network" : w->what);
}

/* numbers ---------------------------------------------------------------------------------------------------------- */

void cpu_start_numbers(const struct cpu_analysis *a, struct cpu_numbers *out)
{
	const struct capture_start *s = &a->capture->start;
	struct start_cpu cpu;
	out->since_start = s->known;
	if (!s->known || !start_time_ns(s))
		return;
	sum_start_cpu(a, &cpu);
	out->start_seconds = seconds_of(start_time_ns(s));
	out->start_port = s->port;
	out->start_cpu_percent = part_of_start(s, cpu.ns[WORK_OF_ALL]);
	out->start_jit_percent = part_of_start(s, cpu.ns[WORK_OF_JIT]);
	out->start_type_loading_percent = part_of_start(s, cpu.ns[WORK_OF_TYPES]);
	out->start_services_percent = part_of_start(s, cpu.ns[WORK_OF_SERVICES]);
	out->start_configuration_percent = part_of_start(s, cpu.ns[WORK_OF_CONFIGURATION]);
	if (!s->looked.to_ns)
		return;
	out->start_looked_percent = part_of_start(s, (double)(s->looked.to_ns - s->looked.from_ns));
	out->start_waiting_percent = part_of_start(s, waited_ns(s));
	out->start_idle_percent = part_of_start(s, (double)s->idle_ns);
	if (!s->wait_count)
		return;
	AUTO_BUF struct buf text;
	buf_init(&text, RULE_TEXT_BYTES);
	put_wait(&s->waits[0], &text);
	rules_set_text(&out->start_wait, buf_str(&text));
	rules_set_text(&out->start_wait_kind, s->waits[0].kind);
	rules_set_text(&out->start_wait_place, s->waits[0].method);
	out->start_wait_percent = part_of_start(s, (double)s->waits[0].ns);
}

/* lines ------------------------------------------------------------------------------------------------------------ */

static double cpu_seconds_until(const struct cpu_analysis *a, int64_t until_ns)
{
	size_t samples = 0;
	for (size_t i = 0; i < a->capture->sample_count; i++)
		samples += a->capture->samples[i].time_ns < until_ns;
	return (double)samples * (double)a->period_ns / 1e9;
}

void cpu_start_explain(const struct cpu_analysis *a, struct buf *text)
{
	const struct capture_start *s = &a->capture->start;
	if (!s->known)
		return;
	if (s->launched)
		buf_puts(text, "Since the process began: ");
	else
		buf_printf(text, "Since the container began: .NET was loaded after %.2f s, ", seconds_of(s->runtime_ns));
	if (s->listens_ns)
		buf_printf(text, "port %d listened after %.2f s and %.2f s of CPU time", s->port, seconds_of(s->listens_ns),
			   cpu_seconds_until(a, s->listens_ns));
	else
		buf_printf(text, "%sno TCP port listened until the session ended", s->launched ? "" : "and ");
	if (!s->attached_ns)
		buf_puts(text, "; its runtime was not asked for names, so that managed code has none here");
}

static void put_part(double percent, const char *what, bool *any, struct buf *text)
{
	if (percent < SAID_PERCENT)
		return;
	buf_puts(text, *any ? ", " : " (");
	phrase_percent(text, percent);
	buf_printf(text, " %s", what);
	*any = true;
}

static void put_computing(const struct cpu_analysis *a, struct buf *text)
{
	const struct capture_start *s = &a->capture->start;
	struct start_cpu cpu;
	bool any = false;
	sum_start_cpu(a, &cpu);
	phrase_percent(text, part_of_start(s, cpu.ns[WORK_OF_ALL]));
	buf_puts(text, " computing");
	put_part(part_of_start(s, cpu.ns[WORK_OF_JIT]), "JIT compilation", &any, text);
	put_part(part_of_start(s, cpu.ns[WORK_OF_TYPES]), "type and assembly loading", &any, text);
	put_part(part_of_start(s, cpu.ns[WORK_OF_SERVICES]), "below dependency injection", &any, text);
	put_part(part_of_start(s, cpu.ns[WORK_OF_CONFIGURATION]), "below configuration", &any, text);
	buf_puts(text, any ? ")" : "");
}

void cpu_start_explain_path(const struct cpu_analysis *a, struct buf *text)
{
	const struct capture_start *s = &a->capture->start;
	if (!s->known || !start_time_ns(s))
		return;
	if (!s->looked.to_ns) {
		buf_puts(text, "What it waited for until then was not measured");
		return;
	}
	buf_puts(text, s->listens_ns ? "Until then the main thread and what it waits for: " : "The main thread and what it waits for: ");
	for (size_t i = 0; i < s->wait_count && i < SAID; i++) {
		const struct capture_start_wait *w = &s->waits[i];
		if (part_of_start(s, (double)w->ns) < SAID_PERCENT)
			break;
		phrase_percent(text, part_of_start(s, (double)w->ns));
		buf_putc(text, ' ');
		put_wait(w, text);
		if (w->method)
			buf_puts(text, " in "), method_name_shorten(w->method, NAME_CHARS, text);
		buf_puts(text, ", ");
	}
	put_computing(a, text);
	if (part_of_start(s, (double)s->idle_ns) >= SAID_PERCENT) {
		buf_puts(text, ", ");
		phrase_percent(text, part_of_start(s, (double)s->idle_ns));
		buf_puts(text, " with nothing to do");
	}
	if (part_of_start(s, (double)s->ready_ns) >= SAID_PERCENT) {
		buf_puts(text, ", ");
		phrase_percent(text, part_of_start(s, (double)s->ready_ns));
		buf_puts(text, " waiting for a CPU");
	}
	if (s->looked.from_ns * 20 > start_time_ns(s))
		buf_printf(text, "; waits of the first %.2f s are not known", seconds_of(s->looked.from_ns));
}

/* JSON ------------------------------------------------------------------------------------------------------------- */

static void put_known_ns(struct json_writer *w, const char *key, int64_t ns)
{
	jsonw_known(w, key, ns ? ns : -1);
}

static void put_path(const struct cpu_analysis *a, struct json_writer *w)
{
	const struct capture_start *s = &a->capture->start;
	struct start_cpu cpu;
	sum_start_cpu(a, &cpu);
	jsonw_object(w, "path");
	jsonw_integer(w, "fromNanoseconds", s->looked.from_ns);
	jsonw_integer(w, "toNanoseconds", s->looked.to_ns);
	jsonw_integer(w, "waitingNanoseconds", (int64_t)waited_ns(s));
	jsonw_integer(w, "idleNanoseconds", s->idle_ns);
	jsonw_known(w, "readyNanoseconds", s->ready_ns);
	jsonw_integer(w, "computingNanoseconds", (int64_t)cpu.ns[WORK_OF_ALL]);
	jsonw_integer(w, "jitNanoseconds", (int64_t)cpu.ns[WORK_OF_JIT]);
	jsonw_integer(w, "typeLoadingNanoseconds", (int64_t)cpu.ns[WORK_OF_TYPES]);
	jsonw_integer(w, "dependencyInjectionNanoseconds", (int64_t)cpu.ns[WORK_OF_SERVICES]);
	jsonw_integer(w, "configurationNanoseconds", (int64_t)cpu.ns[WORK_OF_CONFIGURATION]);
	jsonw_array(w, "waits");
	for (size_t i = 0; i < s->wait_count && i < LISTED; i++) {
		const struct capture_start_wait *x = &s->waits[i];
		jsonw_line(w);
		jsonw_object(w, NULL);
		jsonw_string(w, "kind", x->kind);
		jsonw_string(w, "what", x->what);
		jsonw_string(w, "peer", x->peer[0] ? x->peer : NULL);
		jsonw_string(w, "method", x->method);
		jsonw_string(w, "thread", x->other ? "pool" : "main");
		jsonw_integer(w, "nanoseconds", x->ns);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_end(w);
}

void cpu_start_json(const struct cpu_analysis *a, struct json_writer *w)
{
	const struct capture_start *s = &a->capture->start;
	if (!s->known)
		return;
	jsonw_line(w);
	jsonw_object(w, "start");
	jsonw_string(w, "of", s->launched ? "process" : "container");
	put_known_ns(w, "runtimeNanoseconds", s->runtime_ns);
	put_known_ns(w, "attachedNanoseconds", s->attached_ns);
	put_known_ns(w, "listensNanoseconds", s->listens_ns);
	jsonw_known(w, "port", s->port ? s->port : -1);
	if (s->looked.to_ns)
		put_path(a, w);
	jsonw_end(w);
}

/* the rule --------------------------------------------------------------------------------------------------------- */

/* Without a port it may be an application that never has one: then only what it cannot have wanted counts. */
static bool is_stuck(const struct cpu_numbers *n)
{
	static const char *const kinds[] = {"socket", "lock", "file"};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(n->start_wait_kind.text, kinds[i]) == 0)
			return n->start_seconds >= STUCK_SECONDS && n->start_wait_percent >= STUCK;
	return false;
}

struct rule_score cpu_start_waits(const void *numbers)
{
	const struct cpu_numbers *n = numbers;
	bool agree = n->start_waiting_percent + n->start_cpu_percent <= BOTH_MOST; /* looks, and the kernel's samples of the CPU */
	if (!(n->since_start > 0) || !(n->start_waiting_percent > 0))
		return (struct rule_score){0, 0};
	if (!(n->start_port > 0))
		return (struct rule_score){is_stuck(n) ? rules_score(n->start_wait_percent) : 0, 1};
	bool waits = n->start_seconds >= LEAST_SECONDS && n->start_waiting_percent >= WAITING;
	double explains = n->start_waiting_percent >= MOSTLY ? 100 : n->start_waiting_percent;
	return (struct rule_score){waits ? rules_score(explains) : 0, agree ? 2 : 1};
}

/* Adds the phrase only when the sentence stays short enough. */
static void put_if_it_fits(struct buf *s, const char *phrase)
{
	if (phrase_chars(buf_str(s)) + phrase_chars(phrase) <= HEADLINE_MAX_CHARS)
		buf_puts(s, phrase);
}

static void put_place(const struct cpu_numbers *n, struct buf *s)
{
	size_t used = phrase_chars(buf_str(s)) + 4;
	if (!n->start_wait_place.text[0] || used + 16 > HEADLINE_MAX_CHARS)
		return;
	buf_puts(s, " in ");
	method_name_shorten(n->start_wait_place.text, HEADLINE_MAX_CHARS - used, s);
}

void cpu_says_start_waits(const void *numbers, struct finding *f)
{
	const struct cpu_numbers *n = numbers;
	AUTO_BUF struct buf s, more;
	buf_init(&s, FINDING_MESSAGE_SIZE);
	buf_init(&more, FINDING_MESSAGE_SIZE);
	if (!(n->since_start > 0) || !rules_known(n->start_waiting_percent))
		return;
	finding_evidence(f, "%.0f%% of %.1f s waited at looks, the CPU was used for %.0f%%", n->start_waiting_percent, n->start_seconds, n->start_cpu_percent);
	if (f->state == FINDING_EXCLUDED) {
		finding_message(f, "a start that waits");
		return;
	}
	finding_place(f, n->start_wait_place.text);
	if (n->start_port > 0)
		buf_printf(&s, "%.1f s until port %.0f: ", n->start_seconds, n->start_port);
	else
		buf_printf(&s, "No port in %.0f s: ", n->start_seconds);
	phrase_percent(&s, n->start_wait_percent);
	buf_printf(&s, " %s", n->start_wait.text);
	put_place(n, &s);
	if (n->start_jit_percent >= SAID_PERCENT) {
		buf_puts(&more, ", ");
		phrase_percent(&more, n->start_jit_percent);
		buf_puts(&more, " JIT");
		put_if_it_fits(&s, buf_str(&more));
	}
	finding_message(f, "%s", buf_str(&s));
}
