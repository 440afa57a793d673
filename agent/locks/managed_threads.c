#include "agent/locks/managed_threads.h"

#include "agent/host/proc.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_NAME 15
#define OBJECT_WORDS 32 /* of a Thread, at most */
#define NAME_UNITS 200  /* of a name, at most; more than fit thread_wait.name do not matter */

void managed_threads_read(const struct process_memory *m, const struct runtime_contract *c, struct managed_threads *out)
{
	size_t cap = 0;
	*out = (struct managed_threads){.own_locks_by_managed_id = c->known && c->monitors_are_locks};
	uint64_t store = c->known ? process_memory_word(m, c->thread_store) : 0;
	uint64_t link = store ? process_memory_word(m, store + c->store_first) : 0;
	uint64_t in_thread = c->links_are_threads ? 0 : c->thread_next;
	for (; link > in_thread && out->count < THREAD_WAITS_MAX; link = process_memory_word(m, link - in_thread + c->thread_next)) {
		uint64_t thread = link - in_thread, inner_tid = process_memory_word(m, thread + c->thread_os_id);
		struct managed_thread x = {.inner_tid = (uint32_t)inner_tid, .handle = process_memory_word(m, thread + c->thread_handle)};
		if (!process_memory_whole(m, thread + c->thread_id, &x.managed_id, sizeof x.managed_id))
			return;
		GROW(out->items, out->count, cap);
		out->items[out->count++] = x;
	}
}

void managed_threads_fini(struct managed_threads *t)
{
	free(t->items);
	*t = (struct managed_threads){0};
}

uint32_t managed_threads_inner_tid(const struct managed_threads *t, uint32_t managed_id)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->items[i].managed_id == managed_id)
			return t->items[i].inner_tid;
	return 0;
}

/* whether they are what they seem ------------------------------------------------------------------------------------ */

#define TASKS_ASKED 256 /* of the process's threads; the first one is managed mostly */

static bool has_thread_of(const struct managed_threads *t, int task_fd, const char *tid)
{
	char path[64], text[4096];
	struct proc_status status;
	snprintf(path, sizeof path, "%.20s/status", tid);
	if (fsio_read_small(task_fd, path, text, sizeof text) < 0 || proc_parse_status(text, &status) < 0)
		return false;
	for (size_t i = 0; i < t->count; i++)
		if (t->items[i].inner_tid == (uint32_t)status.inner_pid)
			return true;
	return false;
}

/* True, too, where the threads cannot be listed. */
static bool are_of_process(const struct managed_threads *t, int proc_fd)
{
	AUTO_DIR DIR *dir = fsio_opendir_take(openat(proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int asked = 0;
	if (!dir)
		return true;
	for (struct dirent *entry; asked < TASKS_ASKED && (entry = readdir(dir));) {
		if (entry->d_name[0] == '.')
			continue;
		if (has_thread_of(t, dirfd(dir), entry->d_name))
			return true;
		asked++;
	}
	return asked == 0 || asked == TASKS_ASKED;
}

/* A runtime that has only just begun has no strings yet. */
void managed_threads_check(const struct process_memory *m, int proc_fd, struct managed_types *types, struct runtime_contract *c)
{
	uint64_t string_class = c->known ? process_memory_word(m, c->string_class) : 0;
	struct managed_threads threads;
	if (!string_class)
		return;
	const char *name = managed_types_name(types, string_class);
	if (!managed_types_check(m, c, string_class) || (name[0] && strcmp(name, "System.String") != 0)) {
		runtime_contract_refute(c, "the runtime's description of itself does not lead to its types");
		return;
	}
	managed_threads_read(m, c, &threads);
	if (!are_of_process(&threads, proc_fd))
		runtime_contract_refute(c, "the runtime's description of itself does not lead to its threads");
	managed_threads_fini(&threads);
}

/* names ------------------------------------------------------------------------------------------------------------ */

/* As much of a string as fits; false: it does not begin as the kernel says. Half of a pair and what is none become '?'. */
static bool read_whole_name(const struct process_memory *m, uint64_t string, const char *begins, char *out, size_t size)
{
	uint16_t units[NAME_UNITS];
	uint32_t length = 0;
	size_t used = 0;
	if (!process_memory_whole(m, string + 8, &length, sizeof length) || length > NAME_UNITS ||
	    !process_memory_whole(m, string + 12, units, length * sizeof *units))
		return false;
	for (uint32_t i = 0; i < length && used + 4 < size; i++) {
		uint16_t u = units[i];
		if (u < 0x80) {
			out[used++] = (char)u;
		} else if (u < 0x800) {
			out[used++] = (char)(0xc0 | u >> 6);
			out[used++] = (char)(0x80 | (u & 0x3f));
		} else if (u >= 0xd800 && u < 0xe000) {
			out[used++] = '?';
		} else {
			out[used++] = (char)(0xe0 | u >> 12);
			out[used++] = (char)(0x80 | (u >> 6 & 0x3f));
			out[used++] = (char)(0x80 | (u & 0x3f));
		}
	}
	out[used] = '\0';
	return strncmp(out, begins, KERNEL_NAME) == 0;
}

/* A Thread has one field that is a string. */
static void name_managed_thread(const struct managed_thread *x, const struct process_memory *m, struct managed_types *types, const struct runtime_contract *c,
				struct thread_wait *t)
{
	uint64_t object = process_memory_word(m, x->handle), words[OBJECT_WORDS], string_class = process_memory_word(m, c->string_class);
	char name[sizeof t->name];
	if (strcmp(managed_types_of(types, object), "System.Threading.Thread") != 0)
		return;
	size_t have = process_memory_read(m, object, words, sizeof words) / sizeof *words;
	for (size_t i = 1; i < have; i++) {
		if (!words[i] || (words[i] & 7) || (process_memory_word(m, words[i]) & ~UINT64_C(7)) != string_class)
			continue;
		if (read_whole_name(m, words[i], t->name, name, sizeof name))
			memcpy(t->name, name, sizeof name);
		return;
	}
}

static int by_inner_id(const void *a, const void *b)
{
	const struct managed_thread *x = a, *y = b;
	return (x->inner_tid > y->inner_tid) - (x->inner_tid < y->inner_tid);
}

void managed_threads_name(const struct managed_threads *t, const struct process_memory *m, struct managed_types *types, const struct runtime_contract *c,
			  struct thread_wait *list, size_t count)
{
	struct managed_thread *order = mem_calloc(t->count + 1, sizeof *order);
	if (t->count)
		memcpy(order, t->items, t->count * sizeof *order);
	qsort(order, t->count, sizeof *order, by_inner_id);
	for (size_t i = 0; i < count; i++) {
		const struct managed_thread key = {.inner_tid = list[i].inner_tid};
		const struct managed_thread *x = strlen(list[i].name) == KERNEL_NAME ? bsearch(&key, order, t->count, sizeof key, by_inner_id) : NULL;
		if (x && x->handle)
			name_managed_thread(x, m, types, c, &list[i]);
	}
	free(order);
}
