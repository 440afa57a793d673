/* Context: own thread. System calls are made directly: opendir(3) allocates. */
#include "profiler/gc/background_gc.h"

#include "profiler/base/linux_dirent.h"
#include "profiler/base/text.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TASKS "/proc/self/task"
#define NAME ".NET BGC\n"
#define THREADS_MAX 256 /* one for each heap of the server's collector */

static struct noted_thread {
	char tid[12];
	uint64_t switches;
} noted[THREADS_MAX];
static uint32_t noted_count;

/* Of /proc/self/task/TID; the bytes read, -1: it cannot be read. */
static ssize_t read_of(const char *tid, const char *file, char *buf, size_t cap)
{
	char path[64];
	struct text t = {.data = path, .cap = sizeof path - 1};

	text_puts(&t, TASKS "/");
	text_puts(&t, tid);
	text_puts(&t, file);
	path[t.len] = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, cap);
	if (fd >= 0)
		close(fd);
	return n;
}

static bool is_it(const char *tid)
{
	char name[sizeof NAME];

	return read_of(tid, "/comm", name, sizeof name) == sizeof NAME - 1 && memcmp(name, NAME, sizeof NAME - 1) == 0;
}

/* What stands behind `key` at a line's beginning; NULL: no such line. */
static const char *find_line(const char *text, size_t len, const char *key)
{
	size_t n = strlen(key);

	for (size_t i = 0; i + n < len; i++)
		if ((i == 0 || text[i - 1] == '\n') && memcmp(text + i, key, n) == 0)
			return text + i + n;
	return NULL;
}

static uint64_t number_at(const char *s)
{
	uint64_t n = 0;

	for (; s && *s >= '0' && *s <= '9'; s++)
		n = n * 10 + (uint64_t)(*s - '0');
	return n;
}

/* true: asleep; *switches: how often it has left a processor so far. */
static bool asleep(const char *tid, uint64_t *switches)
{
	char status[4096];
	ssize_t n = read_of(tid, "/status", status, sizeof status - 1);

	if (n <= 0)
		return false;
	status[n] = 0;
	const char *state = find_line(status, (size_t)n, "State:\t"), *own = find_line(status, (size_t)n, "voluntary_ctxt_switches:\t");
	*switches = number_at(own) + number_at(find_line(status, (size_t)n, "nonvoluntary_ctxt_switches:\t"));
	return state && own && *state == 'S';
}

/* true: not one of them, or noted as asleep. */
static bool note_gc_thread(const char *name)
{
	size_t len = strlen(name);

	if (name[0] == '.' || !is_it(name))
		return true;
	if (noted_count == THREADS_MAX || len >= sizeof noted[0].tid)
		return false;
	struct noted_thread *t = &noted[noted_count++];
	memcpy(t->tid, name, len + 1);
	return asleep(t->tid, &t->switches);
}

bool background_gc_note(void)
{
	_Alignas(8) static char buf[8192];
	bool all = true;
	long n = -1;

	noted_count = 0;
	int tasks = open(TASKS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (tasks >= 0 && all && (n = syscall(SYS_getdents64, tasks, buf, sizeof buf)) > 0)
		for (long at = 0; at < n && all; at += ((const struct linux_dirent64 *)(buf + at))->size)
			all = note_gc_thread(((const struct linux_dirent64 *)(buf + at))->name);
	if (tasks >= 0)
		close(tasks);
	return all && n == 0;
}

bool background_gc_any(void)
{
	return noted_count != 0;
}

bool background_gc_slept(void)
{
	uint64_t switches;

	for (uint32_t i = 0; i < noted_count; i++)
		if (!asleep(noted[i].tid, &switches) || switches != noted[i].switches)
			return false;
	return true;
}
