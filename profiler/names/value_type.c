/* Context: a thread of the application that makes an object of the class, or the own thread. */
#include "profiler/names/value_type.h"

#include "profiler/base/text.h"
#include "profiler/clr/cor_heap_abi.h"
#include "profiler/clr/module_guard.h"
#include "profiler/names/type_name.h"

#include <string.h>

#define BASE_NAME_BYTES 64 /* a longer one is another */

static bool is_called(const struct text *name, const char *what, size_t len)
{
	return name->len == len && memcmp(name->data, what, len) == 0;
}

bool value_type_is(void *info, cor_id cls)
{
	char data[BASE_NAME_BYTES];
	struct text name = TEXT_ON(data);
	cor_id module = 0, base = 0, above = 0;
	md_token token = 0;
	void *import = 0;

	if (info_get_parent_class(info, cls, &module, &token, &base) < 0 || !base || /* an array is no class of a module */
	    info_get_parent_class(info, base, &module, &token, &above) < 0 || !module || module_guard_gone(module) ||
	    info_get_module_meta_data(info, module, &import) != COR_S_OK || !import)
		return false;
	type_name_of_def(import, token, &name);
	cor_release(import);
	return is_called(&name, "System.ValueType", sizeof "System.ValueType" - 1) || is_called(&name, "System.Enum", sizeof "System.Enum" - 1);
}
