/* What a callback waits for while the library's own thread goes through the metadata of a large assembly. tsan */
#include "profiler/clr/module_guard.h"
#include "profiler/clr/modules.h"
#include "profiler/requests/grpc_methods.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TYPES 50000u
#define MODULES 2u
#define OTHER 77u /* a module that is unloaded meanwhile */

static _Atomic pid_t unloader_tid;
static _Atomic bool unloaded;
static pthread_t unloader;
static unsigned types_seen, types_at_unload;
static bool unload_the_module_itself;
static unsigned closed, released;

static void *unload(void *module)
{
	atomic_store(&unloader_tid, (pid_t)syscall(SYS_gettid));
	module_guard_unload_started((cor_id)(uintptr_t)module);
	atomic_store(&unloaded, true);
	return NULL;
}

/* Between enter and leave: begins the callback of an unload on a thread of the application, and returns when that waits. */
static void begin_unload(cor_id module)
{
	char path[64], stat[512] = {0}, state = 0;

	atomic_store(&unloader_tid, 0);
	atomic_store(&unloaded, false);
	cr_assert_eq(pthread_create(&unloader, NULL, unload, (void *)(uintptr_t)module), 0);
	while (!atomic_load(&unloader_tid))
		sched_yield();
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", atomic_load(&unloader_tid));
	while (state != 'S') {
		FILE *f = fopen(path, "r");
		cr_assert(f && fread(stat, 1, sizeof stat - 1, f) > 0);
		fclose(f);
		state = strrchr(stat, ')')[2];
	}
}

static uint32_t release(void *self)
{
	(void)self;
	released++;
	return 1;
}

/* ICorProfilerModuleEnum and IMetaDataImport are one object here: slot 3 of the import closes a cursor, that of the list is Skip. */
static hresult next_modules(void *self, uint32_t cap, cor_id *out, uint32_t *n)
{
	static unsigned given;
	(void)self, (void)cap;
	if (given == MODULES) {
		given = 0;
		*n = 0;
		return COR_S_OK;
	}
	*out = 1 + given++;
	*n = 1;
	return COR_S_OK;
}

static void close_cursor(void *self, void *cursor)
{
	(void)self, (void)cursor;
	closed++;
}

static hresult type_defs(void *self, void **cursor, md_token *types, uint32_t cap, uint32_t *n)
{
	uintptr_t at = (uintptr_t)*cursor;
	(void)self;
	for (*n = 0; *n < cap && at < TYPES; ++*n)
		types[*n] = 0x02000001u + (md_token)at++;
	*cursor = (void *)at;
	return COR_S_OK;
}

static hresult field(void *self, md_token type, const wchar16 *name, const uint8_t *sig, uint32_t sig_len, md_token *out)
{
	(void)self, (void)type, (void)name, (void)sig, (void)sig_len, (void)out;
	module_guard_collected(2); /* a collection begins: nothing keeps it */
	if (types_seen++ == 1000)
		begin_unload(unload_the_module_itself ? 2 : OTHER);
	if (!types_at_unload && atomic_load(&unloaded))
		types_at_unload = types_seen;
	return COR_E_FAIL;
}

static void *list_slots[16] = {[2] = release, [7] = next_modules};
static void *import_slots[64] = {[2] = release, [MD_CLOSE_ENUM] = close_cursor, [MD_ENUM_TYPE_DEFS] = type_defs, [MD_FIND_FIELD] = field};
static void **list = list_slots, **import = import_slots;

static hresult modules(void *self, void **out)
{
	(void)self;
	*out = &list;
	return COR_S_OK;
}

static hresult module_info(void *self, cor_id module, uintptr_t *base, uint32_t cap, uint32_t *len, wchar16 *name, cor_id *assembly)
{
	const wchar16 *is = module == 1 ? u"/app/Grpc.Core.Api.dll" : u"/app/Shop.dll";
	(void)self, (void)base, (void)assembly;
	for (*len = 0; *len < cap && (name[*len] = is[*len]); ++*len)
		;
	return COR_S_OK;
}

static hresult meta_data(void *self, cor_id module, uint32_t flags, const struct guid *iid, void **out)
{
	(void)self, (void)flags, (void)iid;
	*out = module == 2 ? &import : NULL;
	return COR_S_OK;
}

static void *info_slots[128] = {
	[INFO_ENUM_MODULES] = modules, [INFO_GET_MODULE_INFO] = module_info, [INFO_GET_MODULE_META_DATA] = meta_data};
static void **info = info_slots;

static void learn(void)
{
	types_seen = types_at_unload = closed = released = 0;
	module_guard_reset(true);
	grpc_methods_reset();
	grpc_methods_learn(&info);
	pthread_join(unloader, NULL);
	module_guard_enter();
}

Test(module_guard, an_unload_waits_for_a_batch_of_types_and_not_for_an_assembly)
{
	learn();
	cr_expect_eq(types_seen, TYPES);
	cr_expect(types_at_unload > 0, "the callback returned while types were read");
	cr_expect_eq(closed, 1);
	cr_expect(module_guard_gone(OTHER));
	module_guard_leave();
}

Test(module_guard, a_module_that_is_unloaded_meanwhile_is_left_alone)
{
	unload_the_module_itself = true;
	learn();
	cr_expect(types_seen < 1000 + 200, "%u types were asked for", types_seen);
	cr_expect_eq(closed, 0, "its cursor went with it");
	cr_expect_eq(released, 2, "of both lists only");
	module_guard_leave();
}

Test(module_guard, a_collection_waits_for_nothing)
{
	module_guard_reset(true);
	module_guard_enter();
	cr_expect(module_guard_quiet());
	module_guard_leave();
	module_guard_unload_started(OTHER);
	module_guard_enter();
	cr_expect_not(module_guard_quiet());
	module_guard_collected(1);
	module_guard_collected(2);
	cr_expect_not(module_guard_quiet());
	module_guard_collected(2);
	module_guard_collected(2);
	cr_expect(module_guard_quiet());
	cr_expect(module_guard_gone(OTHER));
	module_guard_leave();
	module_guard_loaded(OTHER);
	module_guard_enter();
	cr_expect_not(module_guard_gone(OTHER));
	module_guard_leave();
}
