#include "agent/report/old_json.h"

#include "agent/symbols/method_name.h"
#include "common/base/clock.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <string.h>

#define OUTSIDE_TEXT_BYTES 300

void old_json_shown(struct report_file *f, const char *key, const char *value)
{
	buf_printf(&f->text, ",\"%s\":", key);
	if (value)
		text_append_json(&f->text, value, strlen(value));
	else
		buf_puts(&f->text, "null");
}

void old_json_string(struct report_file *f, const char *key, const char *value)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, OUTSIDE_TEXT_BYTES * 16);
	if (value)
		method_name_printable(value, OUTSIDE_TEXT_BYTES, &shown);
	old_json_shown(f, key, value ? buf_str(&shown) : NULL);
}

void old_json_integer(struct report_file *f, const char *key, int64_t value)
{
	buf_printf(&f->text, ",\"%s\":%" PRId64, key, value);
}

void old_json_known(struct report_file *f, const char *key, int64_t value)
{
	if (value < 0)
		buf_printf(&f->text, ",\"%s\":null", key);
	else
		old_json_integer(f, key, value);
}

void old_json_number(struct report_file *f, const char *key, double value, int decimals)
{
	buf_printf(&f->text, ",\"%s\":%.*f", key, decimals, value);
}

void old_json_bool(struct report_file *f, const char *key, bool value)
{
	buf_printf(&f->text, ",\"%s\":%s", key, value ? "true" : "false");
}

void old_json_marks(struct report_file *f, const char *key, unsigned marks)
{
	static const struct {
		unsigned mark;
		const char *name;
	} names[] = {{METHOD_ASYNC, "async"}, {METHOD_ITERATOR, "iterator"}, {METHOD_LAMBDA, "lambda"}, {METHOD_LOCAL, "local"},
		     {METHOD_DYNAMIC, "dynamic"}, {METHOD_NO_SYMBOL, "noSymbol"}};
	const char *comma = "";
	buf_printf(&f->text, ",\"%s\":[", key);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (!(marks & names[i].mark))
			continue;
		buf_printf(&f->text, "%s\"%s\"", comma, names[i].name);
		comma = ",";
	}
	buf_puts(&f->text, "]");
}

static void put_context(const struct report_head *h, struct report_file *f)
{
	const struct session_facts *x = h->facts;
	char when[CLOCK_RFC3339_SIZE];
	buf_puts(&f->text, ",\n\"session\":{\"kind\":\"ProfilingSession\"");
	old_json_string(f, "name", h->context->session_name);
	old_json_string(f, "namespace", h->context->session_namespace);
	old_json_string(f, "uid", h->context->session_uid);
	if (h->context->requested_by && h->context->requested_by[0])
		old_json_string(f, "requestedBy", h->context->requested_by);
	buf_puts(&f->text, "},\n\"target\":{\"runtime\":\".NET\"");
	old_json_string(f, "pod", h->context->pod_name);
	old_json_string(f, "container", h->context->container);
	old_json_string(f, "node", h->context->node_name);
	old_json_integer(f, "pid", x->pid);
	old_json_string(f, "entrypoint", x->target.entrypoint);
	old_json_string(f, "runtimeVersion", x->target.runtime_version);
	old_json_string(f, "architecture", x->target.arch);
	buf_printf(&f->text, "},\n\"time\":{\"startedAt\":\"%s\",\"durationSeconds\":%.3f", clock_rfc3339(x->started_wall_ms, when),
		   (double)x->duration_ns / 1e9);
	old_json_bool(f, "endedEarly", x->canceled);
	buf_puts(&f->text, "}");
}

void old_json_begin(const struct report_head *h, const char *finding, const char *more, struct report_file *f)
{
	AUTO_BUF struct buf text;
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	report_head_text(h, &text);
	enum profiler_kind kind = h->spec ? h->spec->profiler : PROFILER_CPU_HOTPATHS;
	buf_puts(&f->text, "{\"schema\":\"drdotnet.dev/report/v1\",\"generator\":\"drdotnet " DRDOTNET_VERSION "\"");
	old_json_string(f, "profiler", profiler_kind_name(kind));
	put_context(h, f);
	buf_printf(&f->text, ",\n\"diagnosis\":{\"finding\":\"%s\"", finding);
	old_json_shown(f, "headline", h->headline);
	old_json_shown(f, "text", buf_str(&text));
	buf_puts(&f->text, more ? more : "");
	buf_puts(&f->text, "}");
}

static void put_limits(const struct limits *l, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"limitsReached\":[");
	for (size_t i = 0; i < l->count; i++) {
		buf_printf(&f->text, "%s{\"name\":\"%s\"", i ? ",\n" : "\n", l->list[i].name);
		old_json_known(f, "limit", l->list[i].limit);
		old_json_known(f, "seen", l->list[i].seen);
		old_json_shown(f, "meaning", l->list[i].meaning);
		buf_puts(&f->text, "}");
	}
	buf_puts(&f->text, "]");
}

void old_json_end(const struct report_head *h, struct report_file *f)
{
	const struct session_facts *x = h->facts;
	put_limits(&x->limits, f);
	bool unknown = x->cost.max_pause_us == 0 && x->held_unmeasured;
	buf_printf(&f->text, ",\n\"cost\":{\"applicationHeld\":%s", unknown ? "\"notMeasured\"" : "\"measured\"");
	old_json_integer(f, "maxPauseMicroseconds", x->cost.max_pause_us);
	old_json_integer(f, "addedCPUMilliseconds", x->cost.added_cpu_ms);
	old_json_integer(f, "agentCPUMilliseconds", x->cost.agent_cpu_ms);
	old_json_integer(f, "droppedSamples", x->cost.dropped_samples);
	old_json_integer(f, "blockingCollections", x->cost.blocking_collections);
	old_json_integer(f, "blockingCollectionMicroseconds", x->cost.blocking_collections_us);
	buf_puts(&f->text, "}}\n");
}

