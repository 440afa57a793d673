#include "agent/stacks/report_pprof.h"

#include "agent/symbols/method_name.h"
#include "agent/stacks/profile.pb-c.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#define SYSTEM_NAME_BYTES 400

/* Messages of protocol buffers that stand one after the other are merged by the reader, repeated fields concatenated. So the
 * profile is written in pieces and never stands in memory as a whole. */
struct writer {
	struct report_file *file;
	z_stream z;
	unsigned char *packed, *squeezed;
	size_t packed_cap;
	int64_t next_string;
};

#define SQUEEZED_BYTES (32u * 1024)

static void squeeze(struct writer *w, const void *data, size_t len, int flush)
{
	w->z.next_in = (unsigned char *)data;
	w->z.avail_in = (unsigned)len;
	do {
		w->z.next_out = w->squeezed;
		w->z.avail_out = SQUEEZED_BYTES;
		deflate(&w->z, flush);
		report_file_write(w->file, w->squeezed, SQUEEZED_BYTES - w->z.avail_out);
	} while (w->z.avail_out == 0);
}

static void put_profile_piece(struct writer *w, const Drdotnet__Pprof__Profile *piece)
{
	size_t need = drdotnet__pprof__profile__get_packed_size(piece);
	if (need > w->packed_cap) {
		w->packed_cap = need * 2;
		w->packed = mem_realloc(w->packed, w->packed_cap, 1);
	}
	squeeze(w, w->packed, drdotnet__pprof__profile__pack(piece, w->packed), Z_NO_FLUSH);
}

/* Adds to the string table; returns its index. */
static int64_t put_pprof_string(struct writer *w, const char *s)
{
	Drdotnet__Pprof__Profile piece = DRDOTNET__PPROF__PROFILE__INIT;
	char *one[] = {(char *)s};
	piece.n_string_table = 1;
	piece.string_table = one;
	put_profile_piece(w, &piece);
	return w->next_string++;
}

static void put_head(struct writer *w, const struct stack_profile *p)
{
	Drdotnet__Pprof__Profile piece = DRDOTNET__PPROF__PROFILE__INIT;
	Drdotnet__Pprof__ValueType count = DRDOTNET__PPROF__VALUE_TYPE__INIT, weight = DRDOTNET__PPROF__VALUE_TYPE__INIT;
	put_pprof_string(w, "");
	count.type = put_pprof_string(w, p->count_value.type);
	count.unit = put_pprof_string(w, p->count_value.unit);
	weight.type = put_pprof_string(w, p->weight_value.type);
	weight.unit = put_pprof_string(w, p->weight_value.unit);
	int64_t comment = put_pprof_string(w, p->headline);
	Drdotnet__Pprof__ValueType *types[] = {&count, &weight};
	piece.n_sample_type = 2;
	piece.sample_type = types;
	piece.period_type = &weight;
	piece.period = (int64_t)p->period;
	piece.time_nanos = p->started_wall_ms * 1000000;
	piece.duration_nanos = p->duration_ns;
	piece.default_sample_type = weight.type;
	piece.n_comment = 1;
	piece.comment = &comment;
	put_profile_piece(w, &piece);
}

static void put_mapping(struct writer *w, uint64_t id, int64_t filename)
{
	Drdotnet__Pprof__Profile piece = DRDOTNET__PPROF__PROFILE__INIT;
	Drdotnet__Pprof__Mapping mapping = DRDOTNET__PPROF__MAPPING__INIT;
	Drdotnet__Pprof__Mapping *one = &mapping;
	mapping.id = id;
	mapping.filename = filename;
	mapping.has_functions = true;
	piece.n_mapping = 1;
	piece.mapping = &one;
	put_profile_piece(w, &piece);
}

/* The name in the metadata: what other tools know the function by. */
static int64_t put_system_name(struct writer *w, const struct stack_profile *p, const struct cpu_method *m, int64_t name)
{
	if (m->frame == UINT32_MAX || m->layer > LAYER_LIBRARY)
		return name;
	AUTO_BUF struct buf b;
	const struct frame *f = &p->frames[m->frame];
	AUTO_FREE char *raw = mem_printf("%.*s%s%.*s", SYSTEM_NAME_BYTES, f->type ? f->type : "", f->type ? "." : "",
					 SYSTEM_NAME_BYTES, f->method ? f->method : "");
	buf_init(&b, SYSTEM_NAME_BYTES * 32);
	method_name_printable(raw, SYSTEM_NAME_BYTES, &b);
	return put_pprof_string(w, buf_str(&b));
}

/* Each method has a location of its own, and each of its places in the source. */
static uint64_t method_location(uint32_t method)
{
	return (uint64_t)method + 1;
}

static uint64_t place_location(const struct stack_profile *p, uint32_t frame)
{
	return p->method_count + 1 + frame;
}

static void put_pprof_place(struct writer *w, const struct stack_profile *p, uint32_t frame, uint64_t mapping)
{
	Drdotnet__Pprof__Profile piece = DRDOTNET__PPROF__PROFILE__INIT;
	Drdotnet__Pprof__Location location = DRDOTNET__PPROF__LOCATION__INIT, *locations = &location;
	Drdotnet__Pprof__Line line = DRDOTNET__PPROF__LINE__INIT, *lines = &line;
	location.id = place_location(p, frame);
	location.mapping_id = mapping;
	line.function_id = p->frame_methods[frame] + 1;
	line.line = p->frames[frame].line;
	location.n_line = 1;
	location.line = &lines;
	piece.n_location = 1;
	piece.location = &locations;
	put_profile_piece(w, &piece);
}

static void put_pprof_places(struct writer *w, const struct stack_profile *p, const uint64_t *mapping_of)
{
	for (uint32_t i = 0; p->line_leaves && i < p->frame_count; i++)
		if (p->frames[i].file)
			put_pprof_place(w, p, i, mapping_of[p->frame_methods[i]]);
}

static void put_pprof_method(struct writer *w, const struct stack_profile *p, uint32_t method, uint64_t mapping, int64_t filename)
{
	Drdotnet__Pprof__Profile piece = DRDOTNET__PPROF__PROFILE__INIT;
	Drdotnet__Pprof__Function function = DRDOTNET__PPROF__FUNCTION__INIT;
	Drdotnet__Pprof__Location location = DRDOTNET__PPROF__LOCATION__INIT;
	Drdotnet__Pprof__Line line = DRDOTNET__PPROF__LINE__INIT;
	Drdotnet__Pprof__Function *functions = &function;
	Drdotnet__Pprof__Location *locations = &location;
	Drdotnet__Pprof__Line *lines = &line;
	const struct cpu_method *m = &p->methods[method];
	function.id = line.function_id = method + 1;
	location.id = method_location(method);
	function.name = put_pprof_string(w, m->name);
	function.system_name = put_system_name(w, p, m, function.name);
	function.filename = m->line_count && p->lines ? put_pprof_string(w, p->frames[p->lines[m->first_line].frame].file) : filename;
	location.mapping_id = mapping;
	location.n_line = 1;
	location.line = &lines;
	piece.n_function = piece.n_location = 1;
	piece.function = &functions;
	piece.location = &locations;
	put_profile_piece(w, &piece);
}

static int method_by_module(const void *x, const void *y, void *ctx)
{
	const struct cpu_method *m = ctx;
	return strcmp(m[*(const uint32_t *)x].module, m[*(const uint32_t *)y].module);
}

static void put_pprof_methods(struct writer *w, const struct stack_profile *p)
{
	AUTO_FREE uint32_t *order = mem_calloc(p->method_count + 1, sizeof *order);
	AUTO_FREE uint64_t *mapping_of = mem_calloc(p->method_count + 1, sizeof *mapping_of);
	uint64_t mapping = 0;
	int64_t filename = 0;
	for (size_t i = 0; i < p->method_count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, p->method_count, sizeof *order, method_by_module, (void *)p->methods);
	for (size_t i = 0; i < p->method_count; i++) {
		const char *module = p->methods[order[i]].module;
		if (i == 0 || strcmp(module, p->methods[order[i - 1]].module) != 0) {
			filename = module[0] ? put_pprof_string(w, module) : put_pprof_string(w, "[unknown]");
			put_mapping(w, ++mapping, filename);
		}
		mapping_of[order[i]] = mapping;
		put_pprof_method(w, p, order[i], mapping, filename);
	}
	put_pprof_places(w, p, mapping_of);
}

/* The locations of a leaf's stack, leaf first. */
static size_t put_pprof_path(const struct stack_profile *p, const struct stack_line_leaf *l, uint64_t *ids)
{
	size_t count = 0;
	for (uint32_t node = l->node; node != STACK_TREE_ROOT; node = p->tree->nodes[node].parent) {
		uint32_t frame = l->frames ? l->frames[p->tree->nodes[node].depth - 1] : UINT32_MAX;
		bool placed = frame != UINT32_MAX && p->frames[frame].file;
		ids[count++] = placed ? place_location(p, frame) : method_location(p->tree->nodes[node].method);
	}
	return count;
}

struct sample_labels {
	int64_t thread_key, id_key, *names;
};

static void put_sample(struct writer *w, const struct stack_profile *p, const struct sample_labels *words, const struct stack_line_leaf *l)
{
	Drdotnet__Pprof__Profile piece = DRDOTNET__PPROF__PROFILE__INIT;
	Drdotnet__Pprof__Sample sample = DRDOTNET__PPROF__SAMPLE__INIT, *one = &sample;
	Drdotnet__Pprof__Label name = DRDOTNET__PPROF__LABEL__INIT, id = DRDOTNET__PPROF__LABEL__INIT;
	Drdotnet__Pprof__Label *labels[] = {&name, &id};
	uint64_t ids[STACK_PATH_MAX];
	int64_t values[] = {(int64_t)l->count, (int64_t)(l->weight * p->scale)};
	sample.n_location_id = put_pprof_path(p, l, ids);
	sample.location_id = ids;
	sample.n_value = 2;
	sample.value = values;
	name.key = words->thread_key;
	name.str = words->names[l->thread];
	id.key = words->id_key;
	id.num = p->threads[l->thread].tid;
	sample.n_label = 2;
	sample.label = labels;
	piece.n_sample = 1;
	piece.sample = &one;
	put_profile_piece(w, &piece);
}

static void put_samples(struct writer *w, const struct stack_profile *p)
{
	size_t threads = p->thread_count, count = p->line_leaves ? p->line_leaf_count : p->leaf_count;
	AUTO_FREE int64_t *names = mem_calloc(threads + 1, sizeof *names);
	const struct sample_labels words = {put_pprof_string(w, "thread"), put_pprof_string(w, "thread_id"), names};
	for (size_t i = 0; i < threads; i++)
		names[i] = p->threads[i].weight ? put_pprof_string(w, p->threads[i].name) : 0;
	for (size_t i = 0; i < count; i++) {
		const struct stack_leaf *l = p->line_leaves ? NULL : &p->leaves[i];
		const struct stack_line_leaf plain = l ? (struct stack_line_leaf){l->node, l->thread, NULL, l->count, l->weight} : p->line_leaves[i];
		put_sample(w, p, &words, &plain);
	}
}

void report_pprof_write(const struct stack_profile *p, struct report_file *f)
{
	struct writer w = {.file = f};
	if (deflateInit2(&w.z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		f->failed_errno = ENOMEM;
		return;
	}
	w.squeezed = mem_alloc(SQUEEZED_BYTES);
	put_head(&w, p);
	put_pprof_methods(&w, p);
	put_samples(&w, p);
	squeeze(&w, NULL, 0, Z_FINISH);
	deflateEnd(&w.z);
	free(w.packed);
	free(w.squeezed);
}
