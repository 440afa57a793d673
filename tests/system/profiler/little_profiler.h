/* What any profiler of the tests needs of COM: its class {11111111-2222-3333-4444-555555555555} is exported by LITTLE_PROFILER(table of its
 * callbacks), which begins with LITTLE_CALLBACKS(their number): those of COM, and nothing done in the others. */
#ifndef TESTS_LITTLE_PROFILER_H
#define TESTS_LITTLE_PROFILER_H

#include "profiler/clr/cor_abi.h"

struct object {
	void *const *vtable;
};

static hresult ignore(void)
{
	return COR_S_OK;
}

static uint32_t count_one(void)
{
	return 1;
}

static hresult query_itself(struct object *self, const struct guid *iid, void **out)
{
	(void)iid;
	*out = self;
	return COR_S_OK;
}

#define LITTLE_CALLBACKS(count) \
	[0 ... (count) - 1] = (void *)ignore, [0] = (void *)query_itself, [1] = (void *)count_one, [2] = (void *)count_one

#define LITTLE_PROFILER(table)                                                                                                      \
	static struct object callback = {table};                                                                                    \
	static hresult create(struct object *self, void *outer, const struct guid *iid, void **out)                                 \
	{                                                                                                                           \
		(void)self;                                                                                                         \
		(void)outer;                                                                                                        \
		return query_itself(&callback, iid, out);                                                                           \
	}                                                                                                                           \
	static void *const factory_table[] = {(void *)query_itself, (void *)count_one, (void *)count_one, (void *)create,           \
					      (void *)ignore};                                                                      \
	static struct object factory = {factory_table};                                                                             \
	hresult DllGetClassObject(const struct guid *clsid, const struct guid *iid, void **out);                                    \
	hresult DllGetClassObject(const struct guid *clsid, const struct guid *iid, void **out)                                     \
	{                                                                                                                           \
		(void)clsid;                                                                                                        \
		return query_itself(&factory, iid, out);                                                                            \
	}

#endif
