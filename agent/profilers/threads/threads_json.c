#include "agent/profilers/threads/threads_json.h"

#include "agent/profilers/threads/threads_report.h"
#include "agent/report/report_file.h"
#include "agent/report/report_json.h"
#include "agent/stacks/report_lines.h"
#include "agent/stacks/report_tree.h"
#include "common/base/size_text.h"

#define FRAMES_MAX 200

static const char *finding_word(const struct threads_source *s)
{
	if (s->analysis->capture->unread)
		return "unread";
	return findings_lead(s->head.findings) ? "threads" : "none";
}

static void put_looks_json(const struct threads_analysis *a, struct json_writer *w)
{
	const struct threads_capture *c = a->capture;
	jsonw_line(w);
	jsonw_object(w, "looks");
	jsonw_number(w, "secondsBetween", (double)c->between_ns / 1e9, 3);
	jsonw_number(w, "firstMilliseconds", (double)c->first_look_ns / 1e6, 3);
	jsonw_number(w, "secondMilliseconds", (double)c->second_look_ns / 1e6, 3);
	jsonw_unsigned(w, "threadsFirst", c->first_count);
	jsonw_unsigned(w, "threads", c->count);
	jsonw_unsigned(w, "ended", c->ended);
	jsonw_unsigned(w, "still", a->still);
	jsonw_unsigned(w, "stacksUnknown", a->unread);
	jsonw_bool(w, "sampled", c->sampled);
	jsonw_known(w, "containerThreads", c->pids_current);
	jsonw_known(w, "containerThreadsMax", c->pids_max);
	jsonw_end(w);
}

static void put_kinds_json(const struct threads_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "kinds");
	for (size_t k = 0; k < THREAD_KIND_COUNT; k++) {
		if (!a->kinds[k])
			continue;
		jsonw_object(w, NULL);
		jsonw_string(w, "kind", thread_kind_words[k].word);
		jsonw_string(w, "title", size_text_plural(a->kinds[k], thread_kind_words[k].one, thread_kind_words[k].many));
		jsonw_unsigned(w, "threads", a->kinds[k]);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_method_index(struct json_writer *w, const char *key, uint32_t method)
{
	if (method == THREADS_NONE)
		jsonw_null(w, key);
	else
		jsonw_unsigned(w, key, method);
}

static void put_groups_json(const struct threads_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "groups");
	for (size_t i = 0; i < a->group_count; i++) {
		const struct threads_group *g = &a->groups[i];
		AUTO_BUF struct buf text;
		buf_init(&text, METHOD_NAME_SIZE * 2);
		threads_report_group(a, g, &text);
		report_json_record(f);
		jsonw_string(w, "text", buf_str(&text));
		jsonw_string(w, "kind", thread_kind_words[g->kind].word);
		jsonw_string(w, "wait", thread_wait_words[g->wait].word);
		jsonw_bool(w, "idle", threads_group_idles(g));
		put_method_index(w, "place", g->place);
		put_method_index(w, "call", g->call);
		if (g->place != THREADS_NONE)
			report_lines_place_as(f, "source", &a->capture->stacks.frames[a->natures[g->some].place]);
		jsonw_unsigned(w, "threads", g->threads);
		jsonw_unsigned(w, "still", g->still);
		jsonw_unsigned(w, "untimed", g->untimed);
		report_json_end(f);
	}
	jsonw_end(w);
}

static void put_methods_json(const struct threads_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "methods");
	for (size_t i = 0; i < a->method_count; i++) {
		report_json_record(f);
		jsonw_string(w, "name", a->methods[i].name);
		jsonw_string(w, "layer", cpu_layer_name(a->methods[i].layer));
		report_json_end(f);
	}
	jsonw_end(w);
}

static void put_seconds(struct json_writer *w, const char *key, int64_t ns)
{
	if (ns < 0)
		jsonw_null(w, key);
	else
		jsonw_number(w, key, (double)ns / 1e9, 3);
}

static void put_stack_json(const struct threads_analysis *a, size_t thread, struct json_writer *w)
{
	uint32_t path[CAPTURE_MAX_DEPTH], count = threads_path(a, thread, path);
	jsonw_array(w, "stack");
	for (uint32_t i = count; i-- > 0 && count - i <= FRAMES_MAX;)
		jsonw_unsigned(w, NULL, path[i]);
	jsonw_end(w);
}

static void put_threads_json(const struct threads_analysis *a, struct report_file *f)
{
	static const char *const witnesses[] = {[STACK_NOT_READ] = NULL, [STACK_ASLEEP] = "asleep", [STACK_SAMPLED] = "sampled"};
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "threads");
	for (size_t i = 0; i < a->capture->count; i++) {
		const struct seen_thread *t = &a->capture->threads[i];
		const char state[2] = {t->wait.state >= 'A' && t->wait.state <= 'z' ? t->wait.state : '?', '\0'};
		report_json_record(f);
		jsonw_unsigned(w, "id", t->wait.inner_tid);
		report_json_string(f, "name", t->wait.name);
		jsonw_unsigned(w, "group", a->groups_of[i]);
		jsonw_string(w, "state", state);
		jsonw_bool(w, "first", t->first);
		jsonw_bool(w, "still", t->still);
		jsonw_bool(w, "timed", t->wait.timed);
		jsonw_unsigned(w, "switches", t->wait.switches);
		put_seconds(w, "cpuSeconds", t->cpu_ns);
		put_seconds(w, "ageSeconds", t->age_ns);
		jsonw_string(w, "witness", witnesses[t->witness]);
		put_stack_json(a, i, w);
		report_json_end(f);
	}
	jsonw_end(w);
}

void threads_json_write(const void *source, struct report_file *f)
{
	const struct threads_source *s = source;
	const struct threads_analysis *a = s->analysis;
	report_head_json_begin(&s->head, finding_word(s), f);
	jsonw_end(&f->json);
	put_looks_json(a, &f->json);
	put_kinds_json(a, f);
	put_groups_json(a, f);
	put_methods_json(a, f);
	report_tree_json(f, &a->tree, NULL);
	put_threads_json(a, f);
	report_head_json_end(&s->head, f);
}
