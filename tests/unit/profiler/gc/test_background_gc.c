/* Threads are told by names that anybody in the process may give them. tsan */
#include "profiler/gc/background_gc.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>

struct named {
	pthread_t thread;
	const char *name;
	sem_t is_named, may_end;
};

static void *sleep_by_name(void *ctx)
{
	struct named *t = ctx;

	prctl(PR_SET_NAME, t->name);
	sem_post(&t->is_named);
	sem_wait(&t->may_end);
	return NULL;
}

/* Whether a thread of that name is taken for the collector's. */
static bool is_noted(const char *name)
{
	struct named t = {.name = name};

	sem_init(&t.is_named, 0, 0);
	sem_init(&t.may_end, 0, 0);
	cr_assert_eq(pthread_create(&t.thread, NULL, sleep_by_name, &t), 0);
	sem_wait(&t.is_named);
	background_gc_note();
	bool any = background_gc_any();
	background_gc_slept();
	sem_post(&t.may_end);
	pthread_join(t.thread, NULL);
	return any;
}

Test(background_gc, only_the_whole_name_counts)
{
	static const char *const others[] = {"",	  ".NET BG",   ".NET BGC ",	     ".NET BGC2",	".net bgc", " .NET BGC",
					     "\xff\xfe\xed", "a\n.NET BGC", ".NET BGC\n.NET B", "State:\tS\nx:\t15", "\r\n\t\\",  "123456789012345"};

	cr_expect(is_noted(".NET BGC"));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		cr_expect_not(is_noted(others[i]), "%s", others[i]);
}
