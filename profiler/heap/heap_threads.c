/* Context: own thread. */
#include "profiler/heap/heap_threads.h"

#include "profiler/base/text.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct heap_thread threads[HEAP_THREADS_CAP];
static uint32_t count, all;

static void read_thread_name(struct heap_thread_record *r)
{
	char path[64];
	struct text t = {.data = path, .cap = sizeof path - 1};

	text_puts(&t, "/proc/self/task/");
	text_put_u32(&t, r->tid);
	text_puts(&t, "/comm");
	path[t.len] = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, r->name, HEAP_THREAD_NAME_MAX);
	if (fd >= 0)
		close(fd);
	if (n > 0 && r->name[n - 1] == '\n')
		n--;
	r->name[n > 0 ? n : 0] = 0;
}

static void add_heap_thread(void *info, cor_id id)
{
	uint32_t tid;

	if (info_get_thread_info(info, id, &tid) < 0)
		return;
	all++;
	if (count < HEAP_THREADS_CAP) {
		threads[count] = (struct heap_thread){.id = id, .record = {.index = count, .tid = tid}};
		count++;
	}
}

void heap_threads_forget(void)
{
	count = all = 0;
}

void heap_threads_list(void *info)
{
	void *list = NULL;
	cor_id ids[64];
	uint32_t n;

	count = all = 0;
	if (info_enum(info, INFO_ENUM_THREADS, &list) < 0 || !list)
		return;
	while (n = 0, enum_next(list, sizeof ids / sizeof *ids, ids, &n) >= 0 && n > 0)
		for (uint32_t i = 0; i < n; i++)
			add_heap_thread(info, ids[i]);
	cor_release(list);
}

uint32_t heap_threads_count(void)
{
	return count;
}

uint32_t heap_threads_all(void)
{
	return all;
}

const struct heap_thread *heap_threads_get(uint32_t index)
{
	return &threads[index];
}

bool heap_threads_put(struct heap_writer *w)
{
	for (uint32_t i = 0; i < count; i++) {
		read_thread_name(&threads[i].record);
		if (!heap_put_thread(w, &threads[i].record))
			return false;
	}
	return true;
}
