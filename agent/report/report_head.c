#include "agent/report/report_head.h"

#include "agent/symbols/method_name.h"
#include "agent/report/report_file.h"
#include "agent/report/report_json.h"
#include "common/base/clock.h"
#include "common/base/size_text.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <string.h>

const char *report_head_subject(const struct report_head *h, char *scratch, size_t size)
{
	const struct target *t = &h->facts->target;
	if (t->entrypoint && t->entrypoint[0])
		return t->entrypoint;
	snprintf(scratch, size, "process %lld", (long long)h->facts->pid);
	return scratch;
}

static void put_longest_us(struct buf *out, int64_t us)
{
	if (us >= 1000)
		buf_printf(out, "%.1f ms", (double)us / 1000.0);
	else
		buf_printf(out, "%lld us", (long long)us);
}

/* One whose waits cannot be told makes no pauses: it takes its samples by signals. */
static bool waits_not_measured(const struct session_facts *f)
{
	return f->held_unmeasured && f->cost.max_wait_us == 0;
}

void report_head_pause(const struct session_facts *f, struct buf *out)
{
	buf_puts(out, "the application was ");
	if (f->cost.max_pause_us > 0) {
		buf_puts(out, "paused for at most ");
		put_longest_us(out, f->cost.max_pause_us);
	} else {
		buf_puts(out, "never paused");
	}
	if (waits_not_measured(f)) {
		buf_puts(out, "; how long its threads waited was not measured");
	} else if (f->cost.max_wait_us > 0) {
		buf_puts(out, "; one of its threads waited for at most ");
		put_longest_us(out, f->cost.max_wait_us);
	}
}

void report_head_collections(const struct session_facts *f, const char *before, struct buf *out)
{
	const struct session_cost *c = &f->cost;
	if (c->blocking_collections > 0)
		buf_printf(out, "%s%lld blocking garbage collection%s while attached, %.1f ms", before, (long long)c->blocking_collections,
			   size_text_plural(c->blocking_collections, "", "s"), (double)c->blocking_collections_us / 1000.0);
}

void report_head_kept(const struct session_facts *f, const char *before, struct buf *out)
{
	if (f->kept_library_bytes > 0)
		buf_printf(out, "%sthe profiler's library stays mapped, inactive, %lld KiB, until the process ends: the C library of Alpine (musl) unmaps "
			   "none", before, (long long)(f->kept_library_bytes + 1023) / 1024);
}

static void put_whole_line(struct buf *out, const char *before, const char *line, size_t n)
{
	if (n && out->len + strlen(before) + n <= DIAGNOSIS_MAX_BYTES) {
		buf_puts(out, before);
		buf_append(out, line, n);
	}
}

/* Each line begins with a newline. */
static void put_whole_lines(struct buf *out, const char *lines)
{
	while (*lines == '\n') {
		size_t n = strcspn(++lines, "\n");
		put_whole_line(out, "\n", lines, n);
		lines += n;
	}
}

static void put_findings_lines(const struct report_head *h, void (*put)(const struct findings *, struct buf *), struct buf *out)
{
	AUTO_BUF struct buf lines;
	buf_init(&lines, 4 * DIAGNOSIS_MAX_BYTES);
	if (h->findings)
		put(h->findings, &lines);
	put_whole_lines(out, buf_str(&lines));
}

/* Of a session that ended with its process. */
static void put_process_end(const struct session_facts *f, struct buf *out)
{
	AUTO_BUF struct buf line;
	buf_init(&line, 160);
	if (!f->process_ended)
		return;
	buf_printf(&line, "Ended early, after %.1f s: the process ended%s", (double)f->duration_ns / 1e9, f->exit.known ? " with " : "");
	exit_status_text(&f->exit, &line);
	buf_putc(&line, '.');
	put_whole_line(out, "\n", buf_str(&line), line.len);
}

void report_head_text(const struct report_head *h, struct buf *out)
{
	const struct limits *l = &h->facts->limits;
	const char *rest = h->text + strcspn(h->text, "\n");
	buf_append(out, h->text, (size_t)(rest - h->text));
	if (*rest) {
		size_t n = strcspn(rest + 1, "\n");
		put_whole_line(out, "\n", rest + 1, n);
		rest += 1 + n;
	}
	put_process_end(h->facts, out);
	for (size_t i = 0; i < l->count; i++)
		put_whole_line(out, "\nLimit reached: ", l->list[i].meaning, strlen(l->list[i].meaning));
	put_findings_lines(h, findings_put_others, out);
	put_whole_lines(out, rest);
	put_findings_lines(h, findings_put_seen, out);
}

static void put_context(const struct report_head *h, struct report_file *f)
{
	const struct session_facts *x = h->facts;
	struct json_writer *w = &f->json;
	char when[CLOCK_RFC3339_SIZE];
	jsonw_line(w);
	jsonw_object(w, "session");
	jsonw_string(w, "kind", "ProfilingSession");
	report_json_string(f, "name", h->context->session_name);
	report_json_string(f, "namespace", h->context->session_namespace);
	report_json_string(f, "uid", h->context->session_uid);
	if (h->context->requested_by && h->context->requested_by[0])
		report_json_string(f, "requestedBy", h->context->requested_by);
	jsonw_end(w);
	jsonw_line(w);
	jsonw_object(w, "target");
	jsonw_string(w, "runtime", ".NET");
	report_json_string(f, "pod", h->context->pod_name);
	report_json_string(f, "container", h->context->container);
	report_json_string(f, "node", h->context->node_name);
	jsonw_integer(w, "pid", x->pid);
	report_json_string(f, "entrypoint", x->target.entrypoint);
	report_json_string(f, "runtimeVersion", x->target.runtime_version);
	report_json_string(f, "architecture", x->target.arch);
	jsonw_end(w);
	jsonw_line(w);
	jsonw_object(w, "time");
	jsonw_string(w, "startedAt", clock_rfc3339(x->started_wall_ms, when));
	jsonw_number(w, "durationSeconds", (double)x->duration_ns / 1e9, 3);
	jsonw_bool(w, "endedEarly", x->canceled);
	if (x->process_ended && x->exit.known) {
		jsonw_object(w, "processExit");
		jsonw_integer(w, "code", x->exit.code);
		if (x->exit.signal)
			jsonw_string(w, "signal", x->exit.signal);
		jsonw_end(w);
	}
	jsonw_end(w);
}

void report_head_json_begin(const struct report_head *h, const char *finding, struct report_file *f)
{
	AUTO_BUF struct buf text;
	struct json_writer *w = &f->json;
	enum profiler_kind kind = h->spec ? h->spec->profiler : PROFILER_CPU_HOTPATHS;
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	report_head_text(h, &text);
	jsonw_object(w, NULL);
	jsonw_string(w, "schema", "drdotnet.dev/report/v1");
	jsonw_string(w, "generator", "drdotnet " DRDOTNET_VERSION);
	report_json_string(f, "profiler", profiler_kind_name(kind));
	put_context(h, f);
	jsonw_line(w);
	jsonw_object(w, "diagnosis");
	jsonw_string(w, "finding", finding);
	jsonw_string(w, "headline", h->headline);
	jsonw_string(w, "text", buf_str(&text));
}

static void put_limits_json(const struct limits *l, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "limitsReached");
	for (size_t i = 0; i < l->count; i++) {
		report_json_record(f);
		jsonw_string(w, "name", l->list[i].name);
		jsonw_known(w, "limit", l->list[i].limit);
		jsonw_known(w, "seen", l->list[i].seen);
		jsonw_string(w, "meaning", l->list[i].meaning);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_left_json(uint32_t left, struct json_writer *w)
{
	static const char *const names[] = {"events", "mappedLibrary", "activityTracking", "unusedLibrary"}; /* by the bits of enum channel_left */

	jsonw_array(w, "left");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (left >> i & 1)
			jsonw_string(w, NULL, names[i]);
	jsonw_end(w);
}

void report_head_json_end(const struct report_head *h, struct report_file *f)
{
	const struct session_facts *x = h->facts;
	struct json_writer *w = &f->json;
	put_limits_json(&x->limits, f);
	if (h->findings)
		findings_put_json(h->findings, w);
	jsonw_line(w);
	jsonw_object(w, "cost");
	jsonw_integer(w, "maxPauseMicroseconds", x->cost.max_pause_us);
	jsonw_known(w, "maxWaitMicroseconds", waits_not_measured(x) ? -1 : x->cost.max_wait_us);
	jsonw_integer(w, "addedCPUMilliseconds", x->cost.added_cpu_ms);
	jsonw_integer(w, "agentCPUMilliseconds", x->cost.agent_cpu_ms);
	jsonw_integer(w, "droppedSamples", x->cost.dropped_samples);
	jsonw_integer(w, "blockingCollections", x->cost.blocking_collections);
	jsonw_integer(w, "blockingCollectionMicroseconds", x->cost.blocking_collections_us);
	put_left_json(x->left, w);
	if (x->kept_library_bytes)
		jsonw_integer(w, "keptLibraryBytes", x->kept_library_bytes);
	jsonw_end(w);
	jsonw_end(w);
	buf_putc(&f->text, '\n');
}
