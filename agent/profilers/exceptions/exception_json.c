#include "agent/profilers/exceptions/exception_report.h"

#include "agent/report/report_json.h"
#include "agent/stacks/report_lines.h"
#include "agent/stacks/report_tree.h"

#define TYPES 1000
#define SITES 200
#define STACK_NAMES 32

static void put_thrown(const struct exception_analysis *a, struct json_writer *w)
{
	const struct exception_capture *c = a->capture;
	double seconds = a->seconds > 0 ? a->seconds : 1;
	jsonw_line(w);
	jsonw_object(w, "thrown");
	jsonw_number(w, "count", a->ways[EXCEPTION_NEW], 0);
	jsonw_number(w, "perSecond", a->ways[EXCEPTION_NEW] / seconds, 3);
	jsonw_number(w, "rethrown", a->ways[EXCEPTION_RETHROW], 0);
	jsonw_number(w, "awaited", a->ways[EXCEPTION_AWAIT], 0);
	jsonw_number(w, "withInner", a->inner, 0);
	jsonw_number(w, "nested", a->nested, 0);
	jsonw_end(w);
	jsonw_line(w);
	jsonw_object(w, "throwing");
	jsonw_number(w, "microsecondsEach", a->cost_us, 2);
	jsonw_number(w, "cpuPercent", a->cost_percent, 2);
	jsonw_number(w, "cpus", a->cpus, 3);
	jsonw_unsigned(w, "timed", c->timed);
	jsonw_unsigned(w, "cpuSamples", c->cpu_samples);
	jsonw_unsigned(w, "unwindingSamples", c->unwinding_samples);
	jsonw_end(w);
	jsonw_line(w);
	jsonw_object(w, "sampling");
	jsonw_bool(w, "exact", a->exact);
	jsonw_number(w, "sampledPercent", site_time_sampled_percent(&c->time), 1);
	jsonw_unsigned(w, "counted", c->counted);
	jsonw_unsigned(w, "dropped", c->dropped);
	jsonw_unsigned(w, "malformed", c->malformed);
	jsonw_unsigned(w, "withoutShape", c->shapeless);
	jsonw_unsigned(w, "cutStacks", a->cut);
	jsonw_unsigned(w, "withoutStack", a->stackless);
	jsonw_unsigned(w, "incompleteStacks", c->incomplete);
	jsonw_integer(w, "managedFramesNamed", c->stacks.managed_frames);
	jsonw_integer(w, "managedFramesUnnamed", c->stacks.unresolved_frames);
	jsonw_bool(w, "catchers", c->catchers);
	jsonw_bool(w, "revealed", c->revealed);
	jsonw_bool(w, "besideAnotherProfiler", c->stacks.facts.beside_profiler);
	jsonw_end(w);
}

static void put_sum(const struct exception_analysis *a, const struct exception_sum *s, struct json_writer *w)
{
	jsonw_string(w, "type", a->capture->kinds[s->kind].type);
	jsonw_number(w, "count", s->count, 0);
	jsonw_unsigned(w, "counted", s->counted);
	jsonw_number(w, "percent", exception_analysis_percent(a, s->count), 2);
	jsonw_number(w, "withInner", s->inner, 0);
	jsonw_string(w, "method", exception_analysis_method(a, s->method));
}

static void put_exception_types(const struct exception_analysis *a, struct report_file *f)
{
	jsonw_line(&f->json);
	jsonw_array(&f->json, "types");
	for (size_t i = 0; i < a->type_count && i < TYPES; i++) {
		report_json_record(f);
		put_sum(a, &a->types[i], &f->json);
		report_json_end(f);
	}
	jsonw_end(&f->json);
}

static void put_throw_sites(const struct exception_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "sites");
	for (size_t i = 0; i < a->site_count && i < SITES; i++) {
		const struct exception_sum *s = &a->sites[i];
		const struct exception_kind *k = &a->capture->kinds[s->kind];
		char hresult[16];
		snprintf(hresult, sizeof hresult, "0x%08X", (unsigned)k->hresult);
		report_json_record(f);
		put_sum(a, s, w);
		jsonw_string(w, "way", exception_way_name(s->way));
		jsonw_string(w, "shape", k->shape[0] ? k->shape : NULL);
		jsonw_string(w, "message", a->capture->revealed ? k->message : NULL);
		jsonw_string(w, "hresult", hresult);
		jsonw_string(w, "module", s->method == CPU_NO_METHOD ? "" : a->base.methods[s->method].module);
		if (s->frame != UINT32_MAX)
			report_lines_place(f, &a->capture->stacks.frames[s->frame]);
		jsonw_string(w, "catcher", exception_analysis_method(a, s->catcher));
		jsonw_string(w, "caught", exception_distance_name(s->distance));
		jsonw_number(w, "caughtThere", s->caught, 0);
		jsonw_number(w, "firstSeconds", (double)s->first_ns / 1e9, 2);
		jsonw_number(w, "lastSeconds", (double)s->last_ns / 1e9, 2);
		report_tree_stack(w, &a->base, a->stack_node[s->stack], STACK_NAMES); /* the methods above the leaf of the site */
		report_json_end(f);
	}
	jsonw_end(w);
}

void exception_json_write(const void *source, struct report_file *f)
{
	const struct exception_source *s = source;
	const struct exception_analysis *a = s->analysis;
	report_head_json_begin(&s->head, s->diagnosis->finding, f);
	jsonw_end(&f->json);
	put_thrown(a, &f->json);
	put_exception_types(a, f);
	put_throw_sites(a, f);
	report_tree_threads(f, &a->base, "count", a->ways[EXCEPTION_NEW]);
	report_tree_timeline(f, &a->base, "counts", a->timeline, 1);
	report_tree_methods(f, &a->base, NULL, NULL);
	report_lines_symbols(f, &a->capture->stacks.sources);
	report_tree_json(f, &a->base.tree, NULL);
	report_tree_leaves(f, &a->base);
	report_head_json_end(&s->head, f);
}
