/* Preloaded into a target: the profiler library can make its own thread, but none with the large stack that the runtime's code needs.
 * gcc -shared -fPIC no_thread.c -ldl */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#define LARGE (1024 * 1024)

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

__attribute__((visibility("default"))) int pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
	static create_fn *real;
	size_t stack = 0;
	Dl_info where;

	if (!real)
		real = (create_fn *)dlsym(RTLD_NEXT, "pthread_create");
	if (attributes)
		pthread_attr_getstacksize(attributes, &stack);
	if (stack >= LARGE && dladdr((void *)run, &where) && where.dli_fname && strstr(where.dli_fname, "libdrdotnet"))
		return EAGAIN;
	return real(out, attributes, run, argument);
}
