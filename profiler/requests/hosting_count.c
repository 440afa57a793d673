/* Context: own thread. */
#include "profiler/requests/hosting_count.h"

#include "profiler/base/own_memory.h"
#include "profiler/clr/modules.h"

#define FIELDS_MOST 64
#define TRIES 4

static struct {
	uintptr_t slot; /* of the static field that refers to the event source; 0: not found */
	uint32_t requests, in_flight; /* of the counts in it */
} place;

/* Of a class that runs: one of its methods is asked for, as a look-up by the type's own token is not possible on own thread. */
static cor_id class_of(void *info, void *import, cor_id module, md_token type)
{
	md_token method = 0, token = 0;
	cor_id function = 0, cls = 0, of = 0;

	if (md_find_method(import, type, u"RequestStart", &method) != COR_S_OK ||
	    info_get_function_from_token(info, module, method, &function) < 0 || !function ||
	    info_get_function_info(info, function, &cls, &of, &token) < 0)
		return 0;
	return cls;
}

static bool find_offset(void *info, cor_id cls, md_token field, uint32_t *out)
{
	struct cor_field_offset layout[FIELDS_MOST];
	uint32_t count = 0, bytes = 0;

	if (info_get_class_layout(info, cls, layout, FIELDS_MOST, &count, &bytes) < 0)
		return false;
	for (uint32_t i = 0; i < count && i < FIELDS_MOST; i++)
		if (layout[i].field == field) {
			*out = layout[i].offset;
			return true;
		}
	return false;
}

static void find_in(void *info, void *import, cor_id module)
{
	md_token type = 0, log = 0, total = 0, current = 0;
	cor_id domain = 0;
	uintptr_t slot = 0;

	if (md_find_type_def_by_name(import, u"Microsoft.AspNetCore.Hosting.HostingEventSource", 0, &type) != COR_S_OK ||
	    md_find_field(import, type, u"Log", &log) != COR_S_OK || md_find_field(import, type, u"_totalRequests", &total) != COR_S_OK ||
	    md_find_field(import, type, u"_currentRequests", &current) != COR_S_OK)
		return;
	cor_id cls = class_of(info, import, module, type);
	if (cls && find_offset(info, cls, total, &place.requests) && find_offset(info, cls, current, &place.in_flight) &&
	    info_get_app_domain_of_module(info, module, &domain) >= 0 &&
	    info_get_app_domain_static_address(info, cls, log, domain, &slot) >= 0)
		place.slot = slot;
}

static bool is_hosting(void *unused, void *info, cor_id module, const wchar16 *path)
{
	void *import = NULL;

	(void)unused;
	if (!modules_is_named(path, "Microsoft.AspNetCore.Hosting.dll") || info_get_module_meta_data(info, module, &import) != COR_S_OK || !import)
		return false;
	find_in(info, import, module);
	cor_release(import);
	return true;
}

bool hosting_count_find(void *info)
{
	place.slot = 0;
	modules_each(info, is_hosting, NULL);
	return place.slot != 0;
}

/* A collection may move the source meanwhile: what was read counts where it was not. */
static bool read_once(struct hosting_count *out)
{
	uintptr_t before = 0, after = 0;

	return own_memory_read(place.slot, &before, sizeof before) == sizeof before && before &&
	       own_memory_read(before + place.requests, &out->requests, sizeof out->requests) == sizeof out->requests &&
	       own_memory_read(before + place.in_flight, &out->in_flight, sizeof out->in_flight) == sizeof out->in_flight &&
	       own_memory_read(place.slot, &after, sizeof after) == sizeof after && after == before;
}

bool hosting_count_now(struct hosting_count *out)
{
	bool read = false;

	if (place.slot && own_memory_open())
		for (int i = 0; i < TRIES && !read; i++)
			read = read_once(out);
	own_memory_close();
	return read;
}
