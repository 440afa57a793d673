/* /proc/PID/maps of a pod's process: paths are its own words. */
#include "agent/host/maps.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct maps *m)
{
	for (size_t i = 0; i < m->entry_count; i++) {
		const struct map_entry *x = &m->entries[i];
		if (x->start >= x->end || x->file >= m->file_count || (i && m->entries[i - 1].start > x->start))
			abort();
		const struct map_file *f = &m->files[x->file];
		if (f->name < f->path && f->kind != MAP_KERNEL)
			abort();
		const struct map_entry *found = maps_find(m, x->start);
		if (found && (found->start > x->start || found->end <= x->start))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1); /* no NUL behind it */
	memcpy(text, data, size);
	struct maps m;
	maps_init(&m, "/app/Shop");
	for (size_t at = 0; at < size;) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t len = end ? (size_t)(end - text) - at : size - at;
		maps_add_line(&m, text + at, len);
		at += len + 1;
	}
	check(&m);
	maps_fini(&m);
	free(text);
	return 0;
}
