/* Runs the tests of a unit program, each in a forked process. Criterion's own runner starts the program anew for each, which under a
 * sanitizer takes longer than most tests do, and does so at fixed addresses, which ThreadSanitizer cannot bear.
 *
 * usage: <program> [--tap=FILE] [--timeout=SECONDS] [--here] [TEXT...]
 *   --tap      the results go there (Test Anything Protocol), else to standard output
 *   --timeout  of a test that has none of its own
 *   --here     in this process, for a debugger: what fails first ends it
 *   TEXT       only tests whose suite::name contains one of these */
#include "tests/unit/plain_criterion.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAID_MAX 65536

static struct said { /* by a test: memory that its process shares with the runner's */
	atomic_size_t length;
	char text[SAID_MAX];
} *said;

struct options {
	FILE *tap;
	double timeout;
	bool here;
	char **texts;
	int count;
};

static void note(const char *text)
{
	size_t n = strlen(text), at = atomic_fetch_add(&said->length, n);
	if (at + n < SAID_MAX)
		memcpy(said->text + at, text, n);
}

static void note_failure(const char *file, unsigned line, const char *message)
{
	char text[4096];
	int n = snprintf(text, sizeof text, "  - %s:%u: |+\n      Assertion failed: ", file, line);
	for (; *message && n < (int)sizeof text - 16; message++) {
		text[n++] = *message;
		if (*message == '\n')
			n += sprintf(text + n, "        ");
	}
	strcpy(text + n, "\n");
	note(text);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool is_wanted(const struct criterion_test *t, const struct options *o)
{
	char name[512];
	snprintf(name, sizeof name, "%s::%s", t->category, t->name);
	bool found = o->count == 0;
	for (int i = 0; i < o->count; i++)
		found |= strstr(name, o->texts[i]) != NULL;
	return found;
}

static double limit_of(const struct criterion_test *t, const struct options *o)
{
	const struct criterion_test_extra_data *suite = plain_suite_of(t);
	return t->data->timeout > 0 ? t->data->timeout : suite && suite->timeout > 0 ? suite->timeout : o->timeout;
}

/* Waits for the test's process; false: it was ended because it took longer than that. */
static bool end_of(pid_t pid, double limit, int *status)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0); /* no descriptor (an emulator): no limit */
	struct pollfd p = {.fd = fd, .events = POLLIN};
	bool in_time = fd < 0 || limit <= 0 || poll(&p, 1, (int)(limit * 1000)) != 0;
	if (!in_time)
		kill(pid, SIGKILL);
	waitpid(pid, status, 0);
	if (fd >= 0)
		close(fd);
	return in_time;
}

/* Returns whether the test has passed, or was left out. */
static bool run(const struct criterion_test *t, const struct options *o)
{
	double start = now();
	memset(said, 0, sizeof *said);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		plain_at_failure = note_failure;
		plain_at_skip = note;
		exit(plain_call(t) ? 1 : 0); /* through exit(), so that the sanitizer can report what it found */
	}
	int status = 0;
	bool in_time = end_of(pid, limit_of(t, o), &status);
	bool skipped = in_time && WIFEXITED(status) && WEXITSTATUS(status) == PLAIN_SKIPPED, good = in_time && (skipped || status == 0);
	fprintf(o->tap, "%sok - %s::%s ", good ? "" : "not ", t->category, t->name);
	if (skipped)
		fprintf(o->tap, "# SKIP %s\n", said->text);
	else
		fprintf(o->tap, "%s (%.2fs)\n", in_time ? "" : "timed out", now() - start);
	if (!good && in_time && WIFSIGNALED(status))
		fprintf(o->tap, "  ended by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (!good && said->text[0])
		fprintf(o->tap, "  ---\n  failures:\n%s  ...\n", said->text);
	fflush(o->tap);
	return good;
}

static int run_here(const struct options *o)
{
	int failed = 0;
	PLAIN_EACH_TEST(t)
		if (is_wanted(*t, o))
			failed += plain_call(*t);
	return failed ? 1 : 0;
}

static bool parse(int argc, char **argv, struct options *o)
{
	*o = (struct options){.tap = stdout, .texts = argv + 1};
	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i], "--tap=", 6) == 0)
			o->tap = fopen(argv[i] + 6, "we");
		else if (strncmp(argv[i], "--timeout=", 10) == 0)
			o->timeout = atof(argv[i] + 10);
		else if (strcmp(argv[i], "--here") == 0)
			o->here = true;
		else if (argv[i][0] == '-')
			return false;
		else
			o->texts[o->count++] = argv[i];
	}
	return o->tap;
}

int main(int argc, char **argv)
{
	struct options o;
	if (!parse(argc, argv, &o))
		return fprintf(stderr, "usage: %s [--tap=FILE] [--timeout=SECONDS] [--here] [TEXT...]\n", argv[0]), 2;
	if (o.here)
		return run_here(&o);
	said = mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (said == MAP_FAILED)
		return perror("mmap"), 2;
	int passed = 0, failed = 0;
	PLAIN_EACH_TEST(t)
		if (is_wanted(*t, &o))
			*(run(*t, &o) ? &passed : &failed) += 1;
	fprintf(o.tap, "# %d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
