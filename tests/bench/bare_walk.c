/* A profiler that does nothing but a forced collection with COR_PRF_MONITOR_GC, counting objects and references: what any walk by the
 * collector's callbacks costs at least. Writes "milliseconds objects references" to <library's path>.result and detaches.
 * gcc -shared -fPIC -I. bare_walk.c; class {11111111-2222-3333-4444-555555555555}. */
#include "profiler/clr/cor_heap_abi.h"
#include "tests/system/profiler/little_profiler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 98

const struct guid cor_iid_info12 = {0x27b24ccd, 0x1cb1, 0x47c5, {0x96, 0xee, 0x98, 0x19, 0x0d, 0xc3, 0x09, 0x59}};
const struct guid cor_iid_import, cor_iid_info14, cor_iid_info15;

static void *info;
static unsigned long objects, references, roots;

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static hresult on_object(struct object *self, cor_id object, cor_id cls, uint32_t n, const cor_id *targets)
{
	(void)self;
	(void)object;
	(void)cls;
	(void)targets;
	objects++;
	references += n;
	return COR_S_OK;
}

static hresult on_roots(struct object *self, uint32_t n)
{
	(void)self;
	roots += n;
	return COR_S_OK;
}

static hresult initialize(struct object *self, void *unknown, void *data, uint32_t len)
{
	(void)self;
	(void)data;
	(void)len;
	if (cor_query(unknown, &cor_iid_info12, &info) < 0)
		return COR_E_FAIL;
	return info_set_event_mask2(info, COR_MONITOR_GC, 0);
}

static void *walk(void *unused)
{
	Dl_info where;
	char path[512];

	(void)unused;
	double begin = now_ms();
	info_force_gc(info);
	double ms = now_ms() - begin;
	dladdr((void *)(uintptr_t)walk, &where);
	snprintf(path, sizeof path, "%s.part", where.dli_fname);
	FILE *f = fopen(path, "w");
	fprintf(f, "%.3f %lu %lu\n", ms, objects, references);
	fclose(f);
	char last[512];
	snprintf(last, sizeof last, "%s.result", where.dli_fname);
	rename(path, last);
	while (info_request_profiler_detach(info, 300) < 0)
		usleep(100000);
	return NULL;
}

static pthread_t thread;

static hresult complete(struct object *self)
{
	(void)self;
	pthread_create(&thread, NULL, walk, NULL);
	return COR_S_OK;
}

static hresult detached(struct object *self)
{
	(void)self;
	pthread_join(thread, NULL);
	cor_release(info);
	return COR_S_OK;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static void *const table[SLOTS] = {
	LITTLE_CALLBACKS(SLOTS),
	[CB_OBJECT_REFERENCES] = (void *)on_object,
	[CB_ROOT_REFERENCES2] = (void *)on_roots,
	[CB_INITIALIZE_FOR_ATTACH] = (void *)initialize,
	[CB_PROFILER_ATTACH_COMPLETE] = (void *)complete,
	[CB_PROFILER_DETACH_SUCCEEDED] = (void *)detached,
};
#pragma GCC diagnostic pop

LITTLE_PROFILER(table)
