/* A profiler that takes the runtime's main slot and stays, as an APM agent does. For tests only.
 * gcc -shared -fPIC -I. other_profiler.c; class {11111111-2222-3333-4444-555555555555}. */
#include "profiler/cor_abi.h"

#include <stddef.h>
#include <string.h>

struct object {
	void *const *vtable;
};

static hresult ignore(void)
{
	return COR_S_OK;
}

static uint32_t count(void)
{
	return 1;
}

static hresult query(struct object *self, const struct guid *iid, void **out)
{
	(void)iid;
	*out = self;
	return COR_S_OK;
}

#define FOUR (void *)ignore, (void *)ignore, (void *)ignore, (void *)ignore
#define SIXTEEN FOUR, FOUR, FOUR, FOUR
static void *const vtable[] = {(void *)query, (void *)count, (void *)count, (void *)ignore, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN,
			       SIXTEEN};
static struct object callback = {vtable};

static hresult create(struct object *self, void *outer, const struct guid *iid, void **out)
{
	(void)self;
	(void)outer;
	return query(&callback, iid, out);
}

static void *const factory_vtable[] = {(void *)query, (void *)count, (void *)count, (void *)create, (void *)ignore};
static struct object factory = {factory_vtable};

hresult DllGetClassObject(const struct guid *clsid, const struct guid *iid, void **out);
hresult DllGetClassObject(const struct guid *clsid, const struct guid *iid, void **out)
{
	(void)clsid;
	return query(&factory, iid, out);
}
