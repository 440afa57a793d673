/* load_check LIBRARY: loads it with the C library that this program was linked with, asks for a class that it does not have and
 * for one that it has, unloads it. Built against musl it proves that one library serves both. */
#include "common/proto/channel.h"
#include "profiler/clr/cor_abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef hresult get_class(const void *, const struct guid *, void **);

int main(int argc, char **argv)
{
	static const struct guid iid_class_factory = {1, 0, 0, {0xc0, 0, 0, 0, 0, 0, 0, 0x46}};
	uint8_t other[16] = {1};
	void *factory = NULL;

	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!library) {
		printf("not loaded: %s\n", dlerror());
		return 1;
	}
	get_class *get = (get_class *)dlsym(library, "DllGetClassObject");
	const char *version = dlsym(library, "drdotnet_version");
	if (!get || !version || get(other, &iid_class_factory, &factory) >= 0 || factory)
		return 2;
	if (get(channel_clsid, &iid_class_factory, &factory) != COR_S_OK || !factory)
		return 3;
	if (get(channel_clsid_notification, &iid_class_factory, &factory) != COR_S_OK || !factory)
		return 4;
	if (dlclose(library))
		return 5;
	printf("loaded %s\n", "and unloaded");
	return 0;
}
