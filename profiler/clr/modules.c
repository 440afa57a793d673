/* Context: own thread. */
#include "profiler/clr/modules.h"

#include "profiler/clr/module_guard.h"

bool modules_is_named(const wchar16 *path, const char *with)
{
	const wchar16 *name = path;

	for (; *path; path++)
		if (*path == '/')
			name = path + 1;
	while (*with && *name == (unsigned char)*with) {
		name++;
		with++;
	}
	return !*with;
}

bool modules_each(void *info, modules_fn *fn, void *ctx)
{
	void *list = NULL;
	cor_id modules[32];
	uint32_t n;
	bool enough = false;

	if (info_enum(info, INFO_ENUM_MODULES, &list) < 0 || !list)
		return false;
	while (n = 0, !enough && enum_next(list, sizeof modules / sizeof *modules, modules, &n) >= 0 && n > 0)
		for (uint32_t i = 0; i < n && !enough; i++) {
			wchar16 path[512] = {0};
			uint32_t len = 0;
			module_guard_enter();
			if (!module_guard_gone(modules[i]) && info_get_module_info(info, modules[i], sizeof path / sizeof *path - 1, &len, path) >= 0)
				enough = fn(ctx, info, modules[i], path);
			module_guard_leave();
		}
	cor_release(list);
	return enough;
}
