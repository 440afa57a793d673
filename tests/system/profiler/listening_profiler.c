/* A profiler for notifications only that starts with the process and stays; it says each collection that it hears of on standard error.
 * For tests only. gcc -shared -fPIC -I. listening_profiler.c; class {11111111-2222-3333-4444-555555555555}. */
#include "tests/system/profiler/little_profiler.h"

#include <stdio.h>
#include <unistd.h>

#define CB_INITIALIZE 3 /* of profilers that start with the process */

const struct guid cor_iid_info12 = {0x27b24ccd, 0x1cb1, 0x47c5, {0x96, 0xee, 0x98, 0x19, 0x0d, 0xc3, 0x09, 0x59}};

static hresult initialize(struct object *self, void *unknown)
{
	void *info;
	(void)self;
	if (cor_query(unknown, &cor_iid_info12, &info) < 0)
		return COR_E_FAIL;
	return info_set_event_mask2(info, 0, COR_HIGH_BASIC_GC);
}

static hresult collected(struct object *self)
{
	static int collections;
	char line[64];
	(void)self;
	int n = snprintf(line, sizeof line, "other profiler: collection %d\n", __atomic_add_fetch(&collections, 1, __ATOMIC_RELAXED));
	(void)!write(STDERR_FILENO, line, (size_t)n);
	return COR_S_OK;
}

static hresult load_as_notification_only(struct object *self, int32_t *notification_only)
{
	(void)self;
	*notification_only = 1;
	return COR_S_OK;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static void *const table[CB_COUNT] = {
	LITTLE_CALLBACKS(CB_COUNT),
	[CB_INITIALIZE] = (void *)initialize,
	[CB_GARBAGE_COLLECTION_FINISHED] = (void *)collected,
	[CB_LOAD_AS_NOTIFICATION_ONLY] = (void *)load_as_notification_only,
};
#pragma GCC diagnostic pop

LITTLE_PROFILER(table)
