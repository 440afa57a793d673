/* What Debian's libstdc++ and libgcc_s ask of glibc and musl does not have: enough for a .NET that was built for Alpine to run here, with musl's
 * loader and these two libraries. For tests alone: Alpine has libraries of its own. */
#define _GNU_SOURCE
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

struct found_object { /* struct dl_find_object */
	unsigned long long flags;
	void *start, *end, *link_map, *eh_frame_header;
	unsigned long long reserved[7];
};
struct search {
	uintptr_t pc;
	struct found_object found;
};
struct last_call { /* of a thread */
	void (*fn)(void *);
	void *object;
	struct last_call *next;
};

char __libc_single_threaded;
unsigned __cpu_model[4];
int __cpu_indicator_init(void);
unsigned arc4random(void);
size_t __strftime_l(char *out, size_t size, const char *format, const struct tm *t, locale_t locale);
int _dl_find_object(void *pc, struct found_object *out);
int __cxa_thread_atexit_impl(void (*fn)(void *), void *object, void *library);

static pthread_key_t last_calls;
static pthread_once_t last_calls_made = PTHREAD_ONCE_INIT;

int __cpu_indicator_init(void)
{
	return 0;
}

unsigned arc4random(void)
{
	unsigned value = 0;

	return getrandom(&value, sizeof value, 0) < 0 ? 0 : value;
}

size_t __strftime_l(char *out, size_t size, const char *format, const struct tm *t, locale_t locale)
{
	(void)locale;
	return strftime(out, size, format, t);
}

/* 1: it is the object that is sought. */
static int look_into_object(struct dl_phdr_info *object, size_t size, void *ctx)
{
	struct search *s = ctx;
	struct found_object o = {.start = (void *)UINTPTR_MAX};
	bool holds = false;

	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		char *from = (char *)(uintptr_t)object->dlpi_addr + object->dlpi_phdr[i].p_vaddr, *to = from + object->dlpi_phdr[i].p_memsz;
		if (object->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			o.eh_frame_header = from;
		if (object->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		o.start = (void *)from < o.start ? from : o.start;
		o.end = (void *)to > o.end ? to : o.end;
		holds |= s->pc >= (uintptr_t)from && s->pc < (uintptr_t)to;
	}
	if (!holds || !o.eh_frame_header)
		return 0;
	s->found = o;
	return 1;
}

/* Without it no exception is caught. */
int _dl_find_object(void *pc, struct found_object *out)
{
	struct search s = {.pc = (uintptr_t)pc};

	if (!dl_iterate_phdr(look_into_object, &s))
		return -1;
	*out = s.found;
	return 0;
}

static void make_calls(void *first)
{
	for (struct last_call *c = first, *next; c; c = next) {
		next = c->next;
		c->fn(c->object);
		free(c);
	}
}

static void make_key(void)
{
	pthread_key_create(&last_calls, make_calls);
}

int __cxa_thread_atexit_impl(void (*fn)(void *), void *object, void *library)
{
	struct last_call *c = malloc(sizeof *c);

	(void)library;
	if (!c || pthread_once(&last_calls_made, make_key) != 0)
		return -1;
	*c = (struct last_call){fn, object, pthread_getspecific(last_calls)};
	return pthread_setspecific(last_calls, c);
}
