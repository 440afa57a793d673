#include "agent/stacks/frame_namer.h"

#include "agent/stacks/frame_lines.h"
#include "agent/stacks/cpu_category.h"
#include "agent/symbols/aot_name.h"
#include "agent/symbols/kernel_symbols.h"
#include "agent/host/maps.h"
#include "agent/symbols/native_symbols.h"
#include "agent/attach/profiler_channel.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct frame_namer {
	struct capture_builder *builder;
	int proc_fd;
	struct maps maps;
	struct native_symbols *native;
	struct kernel_symbols *kernel;
	bool kernel_tried;
	bool maps_fresh; /* read for this batch: no second time for an address that lies nowhere */
	uint32_t unknown;
	/* the runtime's questions of a batch */
	uint64_t *ask;
	uint32_t *ask_entry;
	const struct resolved_function **answers;
	struct source_place *places;
	struct frame_lines *lines; /* NULL: lines are not told */
	size_t ask_count, ask_cap;
};

static char *main_path(int proc_fd)
{
	char path[PATH_MAX];
	ssize_t n = proc_fd >= 0 ? readlinkat(proc_fd, "exe", path, sizeof path - 1) : -1;
	if (n <= 0)
		return NULL;
	static const char deleted[] = " (deleted)";
	size_t len = (size_t)n, tail = sizeof deleted - 1;
	if (len > tail && memcmp(path + len - tail, deleted, tail) == 0)
		len -= tail;
	return mem_strndup(path, len);
}

struct frame_namer *frame_namer_new(struct capture_builder *b, int proc_fd)
{
	struct frame_namer *n = mem_alloc(sizeof *n);
	AUTO_FREE char *main = main_path(proc_fd);
	n->builder = b;
	n->proc_fd = proc_fd;
	n->unknown = UINT32_MAX;
	maps_init(&n->maps, main);
	n->native = native_symbols_new(proc_fd >= 0 ? openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1);
	frame_namer_unknown(n); /* while there is room for sure */
	return n;
}

void frame_namer_tell_maps(struct frame_namer *n, const char *text, size_t len, const char *main_path, int root_fd)
{
	maps_fini(&n->maps);
	maps_init(&n->maps, main_path);
	for (size_t at = 0; at < len;) {
		const char *stop = memchr(text + at, '\n', len - at);
		size_t line = stop ? (size_t)(stop - text) - at : len - at;
		maps_add_line(&n->maps, text + at, line);
		at += line + 1;
	}
	native_symbols_free(n->native);
	n->native = native_symbols_new(root_fd < 0 ? -1 : fcntl(root_fd, F_DUPFD_CLOEXEC, 0));
}

void frame_namer_free(struct frame_namer *n)
{
	if (!n)
		return;
	maps_fini(&n->maps);
	native_symbols_free(n->native);
	kernel_symbols_free(n->kernel);
	free(n->ask);
	free(n->ask_entry);
	free(n->answers);
	free(n->places);
	frame_lines_free(n->lines);
	free(n);
}

void frame_namer_tell_lines(struct frame_namer *n, frame_il_fn *ask, void *ctx)
{
	frame_lines_free(n->lines);
	n->lines = frame_lines_new(n->proc_fd, ask, ctx);
}

void frame_namer_account(const struct frame_namer *n, struct source_account *out)
{
	if (n->lines)
		frame_lines_account(n->lines, out);
}

uint32_t frame_namer_unknown(struct frame_namer *n)
{
	if (n->unknown == UINT32_MAX)
		n->unknown = capture_add_frame(n->builder, &(struct frame){.kind = FRAME_UNKNOWN});
	return n->unknown;
}

/* A frame for every entry, also when the capture has no room for another one. */
static void assign_frame(struct frame_namer *n, struct ip_entry *x, enum ip_state state, const struct frame *f)
{
	uint32_t frame = capture_add_frame(n->builder, f);
	x->frame = frame != UINT32_MAX ? frame : frame_namer_unknown(n);
	x->state = state;
	x->dynamic = false;
}

static void name_kernel(struct frame_namer *n, struct ip_entry *x)
{
	if (!n->kernel_tried && x->ip != IP_KERNEL) {
		n->kernel_tried = true;
		n->kernel = kernel_symbols_load("/proc");
	}
	const char *name = n->kernel && x->ip != IP_KERNEL ? kernel_symbols_find(n->kernel, x->ip) : NULL;
	assign_frame(n, x, IP_FOREIGN, &(struct frame){.kind = FRAME_KERNEL, .module = (char *)"[kernel]", .method = (char *)name});
}

/* One that was compiled ahead of time is as managed as any: only its name comes from a symbol. */
static bool name_compiled(struct frame_namer *n, struct ip_entry *x, const char *symbol, const char *program)
{
	struct aot_name name;
	if (!aot_name_of(symbol, program, &name))
		return false;
	assign_frame(n, x, IP_NAMED, &(struct frame){.kind = FRAME_MANAGED, .module = name.module, .type = name.type, .method = name.method});
	return true;
}

static void name_native(struct frame_namer *n, struct ip_entry *x, const struct map_entry *m)
{
	char name[NATIVE_NAME_SIZE];
	uint64_t offset = 0;
	struct frame f = {.kind = FRAME_NATIVE, .module = (char *)n->maps.files[m->file].name};
	enum native_code code = native_symbols_code(n->native, &n->maps, m, x->ip);
	if (native_symbols_find(n->native, &n->maps, m, x->ip, name, &offset))
		f.method = name;
	else
		f.address = offset;
	if (code == NATIVE_CODE_METHOD && f.method && name_compiled(n, x, name, f.module))
		return;
	if (code == NATIVE_CODE_RUNTIME || (code == NATIVE_CODE_METHOD && f.method))
		f.module = (char *)CPU_RUNTIME_MODULE;
	assign_frame(n, x, code == NATIVE_CODE_METHOD && !f.method ? IP_UNNAMED : IP_FOREIGN, &f);
}

static void queue_name_request(struct frame_namer *n, struct ip_table *ips, uint32_t entry)
{
	if (n->ask_count == n->ask_cap) {
		n->ask_cap = n->ask_cap ? n->ask_cap * 2 : 256;
		n->ask = mem_realloc(n->ask, n->ask_cap, sizeof *n->ask);
		n->ask_entry = mem_realloc(n->ask_entry, n->ask_cap, sizeof *n->ask_entry);
		n->answers = mem_realloc(n->answers, n->ask_cap, sizeof *n->answers);
		n->places = mem_realloc(n->places, n->ask_cap, sizeof *n->places);
	}
	n->ask[n->ask_count] = ips->items[entry].ip;
	n->ask_entry[n->ask_count] = entry;
	n->places[n->ask_count] = (struct source_place){0};
	n->answers[n->ask_count++] = NULL;
}

/* One that may be managed and has no name: JIT memory gives an unknown frame (a stub of the runtime's), an assembly too, but the
 * executable may have a symbol for it. */
static void name_unresolved(struct frame_namer *n, struct ip_entry *x)
{
	const struct map_entry *m = maps_find(&n->maps, x->ip);
	const struct map_file *f = m ? &n->maps.files[m->file] : NULL;
	if (f && f->kind == MAP_MAIN)
		name_native(n, x, m);
	else
		assign_frame(n, x, IP_UNNAMED, &(struct frame){.kind = FRAME_UNKNOWN, .module = f ? (char *)f->name : NULL});
}

struct frame frame_namer_managed(const struct resolved_function *r)
{
	return (struct frame){
		.kind = FRAME_MANAGED,
		.module = (char *)r->module,
		.type = (char *)r->type,
		.type_args = (char *)r->type_args,
		.method = (char *)r->method,
		.method_args = (char *)r->method_args,
		.params = (char *)r->params,
		.overloaded = r->overloaded,
		.dynamic = r->dynamic,
		.function = r->dynamic ? 0 : r->function_id,
	};
}

static void name_managed(struct frame_namer *n, struct ip_entry *x, const struct resolved_function *r, const struct source_place *place)
{
	struct frame f = frame_namer_managed(r);
	if (place->file) {
		f.file = (char *)place->file;
		f.link = (char *)place->link;
		f.line = place->line;
	}
	assign_frame(n, x, IP_NAMED, &f);
	x->dynamic = r->dynamic;
	x->dynamic_start_ns = (int64_t)r->dynamic_start_ns;
}

static bool wants_name(const struct ip_entry *x, uint32_t batch)
{
	return x->batch == batch && (x->state == IP_NEW || x->state == IP_UNNAMED || x->dynamic);
}

/* The mappings are read again when one of the batch's new addresses lies in none. */
static void refresh_maps(struct frame_namer *n, const struct ip_table *ips, uint32_t batch)
{
	if (n->proc_fd < 0)
		return;
	for (size_t i = 0; i < ips->count; i++) {
		const struct ip_entry *x = &ips->items[i];
		if (x->batch == batch && x->state == IP_NEW && !ip_is_kernel(x->ip) && !maps_find(&n->maps, x->ip)) {
			maps_load(&n->maps, n->proc_fd, NULL);
			return;
		}
	}
}

static void name_by_place(struct frame_namer *n, struct ip_table *ips, uint32_t i)
{
	struct ip_entry *x = &ips->items[i];
	if (ip_is_kernel(x->ip)) {
		name_kernel(n, x);
		return;
	}
	const struct map_entry *m = maps_find(&n->maps, x->ip);
	if (n->proc_fd >= 0 && !m)
		assign_frame(n, x, IP_FOREIGN, &(struct frame){.kind = FRAME_UNKNOWN});
	else if (!m || map_may_be_managed(n->maps.files[m->file].kind))
		queue_name_request(n, ips, i);
	else
		name_native(n, x, m);
}

void frame_namer_name(struct frame_namer *n, struct ip_table *ips, uint32_t batch, frame_resolve_fn *resolve, void *ctx)
{
	refresh_maps(n, ips, batch);
	n->maps_fresh = false;
	n->ask_count = 0;
	for (uint32_t i = 0; i < ips->count; i++)
		if (wants_name(&ips->items[i], batch))
			name_by_place(n, ips, i);
	bool answered = n->ask_count && resolve(ctx, n->ask, n->ask_count, n->answers) == 0;
	if (answered && n->lines)
		frame_lines_find(n->lines, n->ask, n->answers, n->ask_count, n->places);
	for (size_t i = 0; i < n->ask_count; i++) {
		struct ip_entry *x = &ips->items[n->ask_entry[i]];
		if (answered && n->answers[i])
			name_managed(n, x, n->answers[i], &n->places[i]);
		else
			name_unresolved(n, x);
	}
}

enum code_place frame_namer_place(struct frame_namer *n, uint64_t ip)
{
	if (ip_is_kernel(ip))
		return CODE_PLACE_NOWHERE;
	const struct map_entry *m = maps_find(&n->maps, ip);
	if (!m && n->proc_fd >= 0 && !n->maps_fresh) {
		maps_load(&n->maps, n->proc_fd, NULL);
		n->maps_fresh = true;
		m = maps_find(&n->maps, ip);
	}
	if (!m)
		return n->proc_fd >= 0 ? CODE_PLACE_NOWHERE : CODE_PLACE_NATIVE;
	enum map_kind kind = n->maps.files[m->file].kind;
	return !map_may_be_managed(kind) ? CODE_PLACE_NATIVE : kind == MAP_JIT ? CODE_PLACE_JIT : CODE_PLACE_EITHER;
}

void frame_namer_age_maps(struct frame_namer *n)
{
	n->maps_fresh = false;
}

uint64_t frame_namer_image(const struct frame_namer *n, uint64_t ip, uint32_t *file)
{
	const struct map_entry *m = maps_find(&n->maps, ip);
	enum map_kind kind = m ? n->maps.files[m->file].kind : MAP_JIT;
	if (kind == MAP_JIT || kind == MAP_ASSEMBLY)
		return 0;
	*file = m->file;
	return m->image;
}

bool frame_namer_is_thread_start(const struct frame_namer *n, uint64_t ip)
{
	if (n->proc_fd < 0 || ip_is_kernel(ip))
		return true;
	const struct map_entry *m = maps_find(&n->maps, ip);
	return m && (n->maps.files[m->file].c_library || n->maps.files[m->file].kind == MAP_MAIN);
}
