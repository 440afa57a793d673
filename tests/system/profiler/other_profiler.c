/* A profiler that takes the runtime's main slot and stays, as an APM agent does. For tests only.
 * gcc -shared -fPIC -I. other_profiler.c; class {11111111-2222-3333-4444-555555555555}. */
#include "tests/system/profiler/little_profiler.h"

#define FOUR (void *)ignore, (void *)ignore, (void *)ignore, (void *)ignore
#define SIXTEEN FOUR, FOUR, FOUR, FOUR
static void *const table[] = {(void *)query_itself, (void *)count_one, (void *)count_one, (void *)ignore, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN,
			      SIXTEEN, SIXTEEN};

LITTLE_PROFILER(table)
