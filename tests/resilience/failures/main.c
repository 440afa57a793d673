/* Runs the tests of a unit program (criterion's, without its runner) again and again, each time with one call of the product failing, and
 * says how the process took it. What a test asserts may fail then; the process may not crash, leak, hang or keep descriptors. Running
 * out of memory may end it by abort() with the line of common/base/mem.c.
 *
 * usage: <program> (list|run) (each|every) [--part I/N] [--no-memory] [--test TEXT]
 * "each": the first call of each site fails, in each of its ways; "every": every call. A site is known by its call chain. "list" counts.
 * A line for each find, and one with the counts at the end; exits with 1 when there is a find. */
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "tests/resilience/failures/calls.h"
#include "tests/unit/plain_criterion.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sanitizer/lsan_interface.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FINDING 77 /* what the sanitizers exit with: see run.py */
#define KEPT_DESCRIPTOR 78
#define LIMIT_SECONDS 60 /* and ten times what the test takes without a failure: on a busy machine a large one takes long */
#define OUTPUT_MAX 16000
#define OUTPUT_PIPE (1 << 20)

struct outcome {
	int status;
	bool hang;
	double seconds;
	char output[OUTPUT_MAX];
};

struct tally {
	size_t tests, runs, unmet, aborts, finds;
};

static struct calls_log *shared;
static bool private_tmp;
static int limit_seconds = LIMIT_SECONDS;
static int output_pipe[2]; /* no file: tests bound the size of files. What is too much for it is lost */

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A checkout below /tmp stays where it is, in the new /tmp too. */
static bool keep_in_tmp(const char *cwd, int cwd_fd)
{
	char outside[32];
	snprintf(outside, sizeof outside, "/proc/self/fd/%d", cwd_fd);
	return strncmp(cwd, "/tmp/", 5) != 0 ||
	       (fsio_mkdir_p(cwd, 0755, NULL) == 0 && mount(outside, cwd, NULL, MS_BIND | MS_REC, NULL) == 0 && chdir(cwd) == 0);
}

/* A /tmp of its own, so that tests that end early leave nothing. Without the right to that, they do. */
static void make_private_tmp(void)
{
	char cwd[4096];
	if (!getcwd(cwd, sizeof cwd) || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return;
	AUTO_FD int cwd_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC); /* of the new namespace: the old one's cannot be bound here */
	if (cwd_fd < 0 || mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777") < 0)
		return;
	if (!keep_in_tmp(cwd, cwd_fd)) {
		perror("the checkout cannot be bound into a /tmp of its own");
		exit(1);
	}
	setenv("TMPDIR", "/tmp", 1);
	private_tmp = true;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	if (at->level > 0)
		(void)!(type == FTW_DP ? rmdir(path) : unlink(path));
	return 0;
}

static size_t open_descriptors(void)
{
	size_t n = 0;
	DIR *d = opendir("/proc/self/fd");
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static void at_abort(void)
{
	calls_end();
	_exit(__lsan_do_recoverable_leak_check() ? FINDING : 1);
}

/* The test's process. */
static void child(const struct criterion_test *t, bool note, const struct calls_plan *plan)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(output_pipe[1], STDOUT_FILENO);
	dup2(output_pipe[1], STDERR_FILENO);
	plain_at_abort = at_abort;
	size_t before = open_descriptors();
	calls_begin(shared, note, plan);
	int failed = plain_call(t);
	calls_end();
	if (__lsan_do_recoverable_leak_check())
		_exit(FINDING);
	size_t after = open_descriptors();
	size_t left = after > before ? after - before : 0;
	if (note)
		shared->kept_descriptors = left; /* by the test itself */
	if (left > shared->kept_descriptors && failed == 0) {
		printf("%zu descriptors are left\n", left - shared->kept_descriptors);
		fflush(stdout);
		_exit(KEPT_DESCRIPTOR);
	}
	_exit(failed ? 1 : 0);
}

static void wait_for(pid_t pid, struct outcome *out)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	out->hang = poll(&p, 1, limit_seconds * 1000) == 0;
	close(fd);
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	waitpid(pid, &out->status, 0);
	while (waitpid(-1, NULL, WNOHANG) > 0) /* what it has left is ours now */
		;
}

static void take_output(char out[OUTPUT_MAX])
{
	char rest[4096];
	ssize_t n = read(output_pipe[0], out, OUTPUT_MAX - 1);
	out[n > 0 ? n : 0] = '\0';
	while (read(output_pipe[0], rest, sizeof rest) > 0)
		;
}

static void run(const struct criterion_test *t, bool note, const struct calls_plan *plan, struct outcome *out)
{
	fflush(stdout);
	atomic_store(&shared->hit, false);
	atomic_store(&shared->said_memory, false);
	if (note)
		atomic_store(&shared->count, 0);
	double start = now();
	pid_t pid = fork();
	if (pid == 0)
		child(t, note, plan);
	wait_for(pid, out);
	out->seconds = now() - start;
	take_output(out->output);
	if (private_tmp)
		nftw("/tmp", remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static bool aborted_for_memory(const struct outcome *o, const struct call *c)
{
	return c->memory && WIFSIGNALED(o->status) && WTERMSIG(o->status) == SIGABRT && atomic_load(&shared->said_memory);
}

static const char *wrong(const struct outcome *o)
{
	static char text[64];
	if (o->hang)
		return "it hung";
	if (WIFSIGNALED(o->status)) {
		snprintf(text, sizeof text, "it was ended by signal %d", WTERMSIG(o->status));
		return text;
	}
	switch (WEXITSTATUS(o->status)) {
	case 0:
	case 1:
		return NULL;
	case KEPT_DESCRIPTOR:
		return "it kept a descriptor";
	default:
		return "a sanitizer complained";
	}
}

static void say_find(const struct criterion_test *t, const struct call *c, const struct calls_plan *plan, const struct outcome *o)
{
	printf("FIND %s::%s: %s (%s, call %u of site %016lx): %s\n%s\n", t->category, t->name, c->name, shared->way, plan->nth + 1,
	       (unsigned long)plan->site, wrong(o), o->output);
}

/* One call fails. */
static void try(const struct criterion_test *t, const struct call *c, unsigned nth, unsigned way, struct tally *sum)
{
	struct calls_plan plan = {.site = c->site, .nth = nth, .way = way};
	struct outcome o;
	run(t, false, &plan, &o);
	sum->runs++;
	sum->unmet += !atomic_load(&shared->hit);
	if (getenv("FAILURES_VERBOSE"))
		printf("%s::%s %s %016lx %u %u: %.2f s, status %x\n", t->category, t->name, c->name, (unsigned long)c->site, nth, way, o.seconds,
		       (unsigned)o.status);
	if (aborted_for_memory(&o, c)) {
		sum->aborts++;
	} else if (wrong(&o)) {
		sum->finds++;
		say_find(t, c, &plan, &o);
	}
}

struct seen { /* sites, open addressing; of a power of two places */
	struct {
		uint64_t site;
		unsigned calls;
	} places[1 << 19];
};

/* How often the site was seen before. */
static unsigned seen_add(struct seen *s, uint64_t site)
{
	size_t mask = sizeof s->places / sizeof *s->places - 1, i = site & mask;
	while (s->places[i].site && s->places[i].site != site)
		i = (i + 1) & mask;
	s->places[i].site = site;
	return s->places[i].calls++;
}

struct options {
	bool list, every, no_memory;
	size_t part, parts;
	const char *test;
};

static void failures_of(const struct criterion_test *t, const struct options *o, struct seen *program, struct tally *sum)
{
	struct outcome plain;
	limit_seconds = 2 * LIMIT_SECONDS;
	run(t, true, &(struct calls_plan){0}, &plain);
	limit_seconds = LIMIT_SECONDS + (int)(plain.seconds * 10);
	if (plain.hang || plain.status != 0) {
		printf("SKIP %s::%s: without a failure it does not pass here: %s\n%s\n", t->category, t->name,
		       wrong(&plain) ? wrong(&plain) : "an assertion failed", plain.output);
		return;
	}
	sum->tests++;
	size_t count = atomic_load(&shared->count);
	struct call *calls = malloc((count ? count : 1) * sizeof *calls);
	count = count < CALLS_MAX ? count : CALLS_MAX;
	memcpy(calls, shared->calls, count * sizeof *calls);
	struct seen *here = calloc(1, sizeof *here);
	for (size_t i = 0; i < count; i++) {
		unsigned nth = seen_add(here, calls[i].site), before = nth ? 1 : seen_add(program, calls[i].site);
		if ((!o->every && (before || nth)) || (o->no_memory && calls[i].memory) || calls[i].site % o->parts != o->part)
			continue;
		if (o->list)
			sum->runs += calls[i].ways;
		for (unsigned way = 0; !o->list && way < calls[i].ways; way++)
			try(t, &calls[i], nth, way, sum);
	}
	if (o->list)
		printf("%zu calls %s::%s (%.2f s)\n", count, t->category, t->name, plain.seconds);
	free(here);
	free(calls);
}

static bool parse(int argc, char **argv, struct options *o)
{
	*o = (struct options){.parts = 1};
	o->list = argc > 1 && strcmp(argv[1], "list") == 0;
	o->every = argc > 2 && strcmp(argv[2], "every") == 0;
	for (int i = 3; i < argc; i++) {
		if (strcmp(argv[i], "--no-memory") == 0)
			o->no_memory = true;
		else if (strcmp(argv[i], "--part") == 0 && i + 1 < argc && sscanf(argv[i + 1], "%zu/%zu", &o->part, &o->parts) == 2 && o->parts)
			i++;
		else if (strcmp(argv[i], "--test") == 0 && i + 1 < argc)
			o->test = argv[++i];
		else
			return false;
	}
	return argc >= 3;
}

int main(int argc, char **argv)
{
	struct options o;
	if (!parse(argc, argv, &o))
		return fprintf(stderr, "usage: see tests/resilience/failures/main.c\n"), 2;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	make_private_tmp();
	if (pipe2(output_pipe, O_CLOEXEC | O_NONBLOCK) < 0 || fcntl(output_pipe[1], F_SETPIPE_SZ, OUTPUT_PIPE) < 0)
		return perror("pipe"), 2;
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct seen *program = calloc(1, sizeof *program);
	struct tally sum = {0};
	PLAIN_EACH_TEST(t)
		if (!o.test || strstr((*t)->name, o.test))
			failures_of(*t, &o, program, &sum);
	printf("DONE tests=%zu runs=%zu unmet=%zu aborts=%zu finds=%zu\n", sum.tests, sum.runs, sum.unmet, sum.aborts, sum.finds);
	free(program);
	return sum.finds ? 1 : 0;
}
