#include "agent/profilers/exceptions/exception_rules.h"

#include "agent/report/phrase.h"
#include "agent/report/report.h"
#include "agent/symbols/method_name.h"

#include <string.h>

#define LEAST_COUNTED 20
#define LOST_PERCENT 20.0
#define EXACT_PERCENT 99.9         /* of the time was watched */
#define STORM_PERCENT 5.0         /* of the process's CPU time */
#define WORTH_PERCENT 2.0
#define LEAST_OF_A_CPU 1.0        /* percent: a process that does nothing else may throw now and then */
#define STORM_PER_CPU_SECOND 2000 /* where the cost is not known */
#define NEAR_PERCENT 50.0
#define ONE_SITE_PERCENT 60.0
#define PLACE_PERCENT 20.0
#define RETRY_PER_SECOND 2.0
#define RETRY_LEAST 10
#define RATE_PER_SECOND 100.0     /* from here on a period in milliseconds says little */
#define RETRY_SPAN_PERCENT 50.0   /* of the session, from the first to the last */
#define LEAST_NAME_CHARS 16

static const struct exception_numbers *exception_numbers_in(const void *numbers)
{
	return numbers;
}

void exception_put_number(struct buf *out, double per_second)
{
	if (per_second >= 1000) {
		unsigned long long whole = (unsigned long long)(fmin(per_second, 1e18) + 0.5); /* a library may claim any number */
		if (whole >= 1000000)
			buf_printf(out, "%llu,%03llu,%03llu", whole / 1000000, whole / 1000 % 1000, whole % 1000);
		else
			buf_printf(out, "%llu,%03llu", whole / 1000, whole % 1000);
		return;
	}
	buf_printf(out, per_second >= 20 ? "%.0f" : per_second >= 1 ? "%.1f" : "%.2f", per_second);
}

/* An application that does little else than throw is slower while it is watched than in the rest of the time. */
void exception_put_rate(struct buf *out, const struct exception_numbers *n)
{
	buf_puts(out, n->sampled_percent < EXACT_PERCENT ? "at least " : "");
	exception_put_number(out, exception_numbers_only_again(n) ? n->again_per_second : n->thrown_per_second);
}

static const char *needs_throws(const void *numbers)
{
	return exception_numbers_in(numbers)->dropped_percent > LOST_PERCENT ? "too many exceptions were lost: there were more places than can be kept" : NULL;
}

static const char *needs_catchers(const void *numbers)
{
	const struct exception_numbers *n = exception_numbers_in(numbers);
	return rules_known(n->near_percent) ? needs_throws(numbers) : "the runtime did not tell who catches";
}

/* How much of the process's work throwing is: by what it costs, or where that is not known by how often it happens. */
static bool is_costly(const struct exception_numbers *n, double percent)
{
	if (n->counted < LEAST_COUNTED)
		return false;
	double cost = exception_numbers_cost(n);
	if (!rules_known(cost))
		return rules_known(n->thrown_per_cpu_second) && n->thrown_per_cpu_second >= STORM_PER_CPU_SECOND;
	return cost >= percent && cost * n->cpus >= LEAST_OF_A_CPU;
}

/* One witness counts the exceptions, the other one the CPU time that they take. */
static int witnesses_of_cost(const struct exception_numbers *n)
{
	return 1 + rules_known(exception_numbers_cost(n));
}

static void cost_evidence(const struct exception_numbers *n, struct finding *f)
{
	AUTO_BUF struct buf rate;
	buf_init(&rate, 64);
	exception_put_rate(&rate, n);
	if (rules_known(n->cost_percent))
		finding_evidence(f, "%s exceptions/s, %.1f us of CPU time each until they are caught, %.1f%% of %.2f CPUs", buf_str(&rate), n->cost_us,
				 n->cost_percent, n->cpus);
	else
		finding_evidence(f, "%s exceptions/s; what they cost was not measured", buf_str(&rate));
	if (rules_known(n->unwinding_percent))
		finding_evidence_also(f, "%.1f%% of the CPU samples are in the runtime's handling of exceptions", n->unwinding_percent);
}

/* "12,300 exceptions/s", then `before` and the place, as long as a headline may be. */
static void exception_message(const struct exception_numbers *n, const char *before, const char *name, const char *otherwise, struct finding *f)
{
	AUTO_BUF struct buf line;
	buf_init(&line, 4096);
	exception_put_rate(&line, n);
	buf_puts(&line, " exceptions/s");
	size_t used = phrase_chars(buf_str(&line)) + strlen(before), room = used < HEADLINE_MAX_CHARS ? HEADLINE_MAX_CHARS - used : 0;
	if (name[0] && room >= LEAST_NAME_CHARS) {
		buf_puts(&line, before);
		method_name_shorten(name, room, &line);
	} else {
		buf_puts(&line, otherwise);
	}
	finding_message(f, "%s", buf_str(&line));
	finding_place(f, name);
}

static struct rule_score is_control_flow(const void *numbers)
{
	const struct exception_numbers *n = exception_numbers_in(numbers);
	bool found = n->near_percent >= NEAR_PERCENT && is_costly(n, WORTH_PERCENT) && !exception_numbers_only_again(n);
	return (struct rule_score){found ? rules_score(n->near_percent) : 0, witnesses_of_cost(n)};
}

static void says_control_flow(const void *numbers, struct finding *f)
{
	const struct exception_numbers *n = exception_numbers_in(numbers);
	if (f->state == FINDING_EXCLUDED) {
		finding_message(f, "exceptions as control flow");
		if (n->near_percent >= NEAR_PERCENT)
			cost_evidence(n, f);
		else
			finding_evidence(f, "%.0f%% are caught in the method that throws them or in its caller", n->near_percent);
		return;
	}
	exception_message(n, ", thrown and caught in ", n->near_method.text, ", thrown and caught at once", f);
	if (rules_known(exception_numbers_cost(n)))
		finding_evidence(f, "%.0f%% are caught in the method that throws them or in its caller (%s); throwing takes %.1f%% of the CPU time",
				 n->near_percent, n->near_catcher.text, exception_numbers_cost(n));
	else
		finding_evidence(f, "%.0f%% are caught in the method that throws them or in its caller (%s)", n->near_percent, n->near_catcher.text);
}

static struct rule_score is_storm(const void *numbers)
{
	const struct exception_numbers *n = exception_numbers_in(numbers);
	double cost = exception_numbers_cost(n), percent = rules_known(cost) ? cost : STORM_PERCENT;
	return (struct rule_score){is_costly(n, STORM_PERCENT) ? rules_score(percent) : 0, witnesses_of_cost(n)};
}

/* ", 50% in Shop.Cart.Check": a storm of several types has no one place, and yet a first one to look at. Where the rate leaves no room for a name that most
 * are of, the rate goes. */
static void put_first_place(const struct exception_numbers *n, size_t without_rate, struct buf *line)
{
	bool again = exception_numbers_only_again(n), most = again || n->method_percent >= ONE_SITE_PERCENT;
	const char *name = again ? n->again_method.text : n->method.text;
	AUTO_BUF struct buf before;
	buf_init(&before, 64);
	if (!name[0] || (!again && !(n->method_percent >= PLACE_PERCENT)))
		return;
	if (most)
		buf_puts(&before, again ? ", by awaits in " : ", most in ");
	else
		buf_printf(&before, ", %.0f%% in ", n->method_percent);
	size_t used = line->len + before.len;
	if (used + LEAST_NAME_CHARS > HEADLINE_MAX_CHARS && most) {
		line->data[line->len = without_rate] = '\0';
		used = line->len + before.len;
	}
	if (used + LEAST_NAME_CHARS > HEADLINE_MAX_CHARS)
		return;
	buf_puts(line, buf_str(&before));
	method_name_shorten(name, HEADLINE_MAX_CHARS - used, line);
}

static void says_storm(const void *numbers, struct finding *f)
{
	const struct exception_numbers *n = exception_numbers_in(numbers);
	double cost = exception_numbers_cost(n);
	AUTO_BUF struct buf rate, line;
	buf_init(&rate, 64);
	buf_init(&line, 4096);
	exception_put_rate(&rate, n);
	if (f->state == FINDING_EXCLUDED) {
		finding_message(f, "exceptions that take much CPU time");
		cost_evidence(n, f);
		return;
	}
	if (rules_known(cost)) {
		buf_printf(&line, "Throwing takes %.0f%% of the CPU time", cost);
		size_t without_rate = line.len;
		buf_printf(&line, ": %s exceptions/s", buf_str(&rate));
		put_first_place(n, without_rate, &line);
	} else {
		buf_printf(&line, "%s exceptions/s, %.0f for each second of CPU time", buf_str(&rate), n->thrown_per_cpu_second);
	}
	finding_message(f, "%s", buf_str(&line));
	finding_place(f, exception_numbers_only_again(n) ? n->again_method.text : n->method.text);
	cost_evidence(n, f);
}

static struct rule_score is_one_site(const void *numbers)
{
	const struct exception_numbers *n = exception_numbers_in(numbers);
	bool found = n->site_percent >= ONE_SITE_PERCENT && n->site_method.text[0] && is_costly(n, WORTH_PERCENT) && !exception_numbers_only_again(n);
	return (struct rule_score){found ? rules_score(n->site_percent) : 0, witnesses_of_cost(n)};
}

static void says_one_site(const void *numbers, struct finding *f)
{
	const struct exception_numbers *n = exception_numbers_in(numbers);
	if (f->state == FINDING_EXCLUDED) {
		finding_message(f, "one exception that costs much");
		if (n->site_percent >= ONE_SITE_PERCENT)
			cost_evidence(n, f);
		else
			finding_evidence(f, "the most frequent one is %.0f%% of them", n->site_percent);
		return;
	}
	exception_message(n, ", most in ", n->site_method.text, ", most of them one", f);
	finding_evidence(f, "%.0f%% are %s", n->site_percent, n->site_type.text);
}

static struct rule_score is_retry_storm(const void *numbers)
{
	const struct exception_numbers *n = exception_numbers_in(numbers);
	bool found = n->retry_per_second >= RETRY_PER_SECOND && n->retry_count >= RETRY_LEAST && n->retry_span_percent >= RETRY_SPAN_PERCENT;
	return (struct rule_score){found ? 10 : 0, 1};
}

static void says_retry_storm(const void *numbers, struct finding *f)
{
	const struct exception_numbers *n = exception_numbers_in(numbers);
	const char *name = n->retry_method.text[0] ? n->retry_method.text : n->retry_type.text;
	AUTO_BUF struct buf line;
	buf_init(&line, 4096);
	if (finding_excluded(f, "a dependency that fails again and again", "%.2f such exceptions/s", n->retry_per_second))
		return;
	buf_puts(&line, "A dependency fails and is asked again, ");
	if (n->retry_per_second < RATE_PER_SECOND) {
		buf_printf(&line, "each %.0f ms", 1000 / n->retry_per_second);
	} else {
		exception_put_number(&line, n->retry_per_second);
		buf_puts(&line, " times a second");
	}
	size_t used = line.len + strlen(": ") + strlen("Possible: "), room = used < HEADLINE_MAX_CHARS ? HEADLINE_MAX_CHARS - used : 0;
	if (room >= LEAST_NAME_CHARS / 2) {
		buf_puts(&line, ": ");
		method_name_shorten(name, room, &line);
	}
	finding_message(f, "%s", buf_str(&line));
	finding_evidence(f, "%.0f of %s over %.0f%% of the session", n->retry_count, n->retry_type.text, n->retry_span_percent);
	finding_place(f, n->retry_method.text);
}

bool exception_rules_repeat(const struct finding *lead, const struct finding *x)
{
	return strcmp(lead->id, "RetryStorm") != 0 && strcmp(x->id, "RetryStorm") != 0 && strcmp(lead->place, x->place) == 0;
}

/* Of equal scores the first: how near the catch block is says more than the place alone. */
const struct rule exception_rules[] = {
	{"ExceptionsAsControlFlow", needs_catchers, is_control_flow, says_control_flow},
	{"OneExceptionDominates", needs_throws, is_one_site, says_one_site},
	{"ExceptionStorm", needs_throws, is_storm, says_storm},
	{"RetryStorm", needs_throws, is_retry_storm, says_retry_storm},
};
const size_t exception_rule_count = sizeof exception_rules / sizeof *exception_rules;
