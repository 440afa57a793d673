/* The managed threads of the process, with the kernel's ids and names. They are listed while the application stands (a thread that ends takes
 * what its id points to with it), and told with their names when it runs again. Own thread. */
#ifndef DRDOTNET_HEAP_THREADS_H
#define DRDOTNET_HEAP_THREADS_H

#include "common/proto/heap_stream.h"
#include "profiler/clr/cor_heap_abi.h"

#ifndef HEAP_THREADS_CAP /* a test's library has fewer */
#define HEAP_THREADS_CAP 8192u /* more are counted, and not looked at */
#endif

struct heap_thread {
	cor_id id;
	struct heap_thread_record record;
};

void heap_threads_forget(void);
void heap_threads_list(void *info);
uint32_t heap_threads_count(void);
uint32_t heap_threads_all(void); /* with those that found no place */
const struct heap_thread *heap_threads_get(uint32_t index);
bool heap_threads_put(struct heap_writer *w); /* reads their names */

#endif
