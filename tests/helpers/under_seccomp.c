/* under-seccomp: runs a program under a seccomp profile of deploy/seccomp, loaded through libseccomp as container runtimes do.
 *
 *   under-seccomp enforce PROFILE PROGRAM ARGS...      what is not allowed is answered as the profile says
 *   under-seccomp record PROFILE LOG PROGRAM ARGS...   the same, and the name of each call that was refused is a line of LOG
 *   under-seccomp learn PROFILE LOG PROGRAM ARGS...    all is allowed, and the name of each call is a line of LOG: what a profile is made of
 *   under-seccomp names PROFILE                        "name x86_64-number aarch64-number" of each; -1: not on this one
 *
 * PROFILE and LOG may be "fd:N", a descriptor that is open already. The log is written by a second process, which lives as long as
 * somebody is under the filter. Linked statically, so that it runs in any container. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS_MAX 1024

static void die(const char *what)
{
	fprintf(stderr, "under-seccomp: %s: %s\n", what, strerror(errno));
	exit(125);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

/* The profile ----------------------------------------------------------------------------------------------------- */

static uint32_t action_of(const json_t *object, const char *action_key, const char *errno_key)
{
	const char *name = text_of(object, action_key);
	const json_t *code = json_object_get(object, errno_key);
	if (strcmp(name, "SCMP_ACT_ALLOW") == 0)
		return SCMP_ACT_ALLOW;
	if (strcmp(name, "SCMP_ACT_ERRNO") == 0)
		return SCMP_ACT_ERRNO(code ? (uint32_t)json_integer_value(code) : EPERM);
	errno = EINVAL;
	die(name);
	return 0;
}

static struct scmp_arg_cmp condition_of(const json_t *arg)
{
	static const struct {
		const char *name;
		enum scmp_compare op;
	} ops[] = {{"SCMP_CMP_EQ", SCMP_CMP_EQ}, {"SCMP_CMP_NE", SCMP_CMP_NE}, {"SCMP_CMP_MASKED_EQ", SCMP_CMP_MASKED_EQ}};
	struct scmp_arg_cmp c = {
		.arg = (unsigned)json_integer_value(json_object_get(arg, "index")),
		.datum_a = (uint64_t)json_integer_value(json_object_get(arg, "value")),
		.datum_b = (uint64_t)json_integer_value(json_object_get(arg, "valueTwo")),
	};
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		if (strcmp(ops[i].name, text_of(arg, "op")) == 0) {
			c.op = ops[i].op;
			return c;
		}
	}
	errno = EINVAL;
	die("op");
	return c;
}

static void add_rules(scmp_filter_ctx filter, const json_t *entry)
{
	struct scmp_arg_cmp conditions[6];
	unsigned count = 0;
	size_t i;
	const json_t *item;
	json_array_foreach(json_object_get(entry, "args"), i, item)
		conditions[count++] = condition_of(item);
	uint32_t action = action_of(entry, "action", "errnoRet");
	json_array_foreach(json_object_get(entry, "names"), i, item) {
		int number = seccomp_syscall_resolve_name(json_string_value(item));
		if (number == __NR_SCMP_ERROR)
			continue; /* newer than this libseccomp: runtimes pass over it too */
		int rc = seccomp_rule_add_array(filter, action, number, count, conditions);
		if (rc < 0 && rc != -EDOM) {
			errno = -rc;
			die(json_string_value(item));
		}
	}
}

static int open_file(const char *path, int flags)
{
	int fd = strncmp(path, "fd:", 3) == 0 ? atoi(path + 3) : open(path, flags | O_CLOEXEC, 0644);
	if (fd < 0)
		die(path);
	return fd;
}

static json_t *read_profile(const char *path)
{
	json_error_t error;
	json_t *profile = json_loadfd(open_file(path, O_RDONLY), 0, &error);
	if (!profile) {
		fprintf(stderr, "under-seccomp: %s:%d: %s\n", path, error.line, error.text);
		exit(125);
	}
	return profile;
}

static scmp_filter_ctx make_filter(const json_t *profile, uint32_t default_action, bool with_rules)
{
	scmp_filter_ctx filter = seccomp_init(default_action);
	if (!filter)
		die("seccomp_init");
	size_t i;
	const json_t *item;
	json_array_foreach(json_object_get(profile, "architectures"), i, item) {
		const char *name = json_string_value(item);
		uint32_t arch = strcmp(name, "SCMP_ARCH_X86_64") == 0 ? SCMP_ARCH_X86_64 : SCMP_ARCH_AARCH64;
		int rc = seccomp_arch_add(filter, arch);
		if (rc < 0 && rc != -EEXIST)
			die("seccomp_arch_add");
	}
	if (with_rules) {
		json_array_foreach(json_object_get(profile, "syscalls"), i, item)
			add_rules(filter, item);
	}
	return filter;
}

static int print_names(const json_t *profile)
{
	size_t i, k;
	const json_t *entry, *name;
	json_array_foreach(json_object_get(profile, "syscalls"), i, entry) {
		json_array_foreach(json_object_get(entry, "names"), k, name) {
			const char *text = json_string_value(name);
			int x86 = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, text);
			int arm = seccomp_syscall_resolve_name_arch(SCMP_ARCH_AARCH64, text);
			printf("%s %d %d\n", text, x86 < 0 ? -1 : x86, arm < 0 ? -1 : arm);
		}
	}
	return 0;
}

/* The recorder ---------------------------------------------------------------------------------------------------- */

static void note(int log, const struct seccomp_notif *request, bool *known)
{
	int number = request->data.nr;
	if (number < 0 || number >= CALLS_MAX || known[number])
		return;
	known[number] = true;
	char *name = seccomp_syscall_resolve_num_arch(seccomp_arch_native(), number);
	dprintf(log, "%s\n", name ? name : "?");
	free(name);
}

static void record(int listener, int log, bool allow)
{
	static bool known[CALLS_MAX];
	struct seccomp_notif *request;
	struct seccomp_notif_resp *answer;
	if (seccomp_notify_alloc(&request, &answer) < 0)
		die("seccomp_notify_alloc");
	struct pollfd p = {.fd = listener, .events = POLLIN};
	while (poll(&p, 1, -1) > 0 && !(p.revents & POLLHUP)) {
		memset(request, 0, sizeof *request);
		if (seccomp_notify_receive(listener, request) < 0)
			continue; /* who has asked is gone */
		note(log, request, known);
		*answer = (struct seccomp_notif_resp){.id = request->id, .error = allow ? 0 : -EPERM,
						      .flags = allow ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0};
		seccomp_notify_respond(listener, answer);
	}
}

/* The recorder shares the table of descriptors until the program is executed: so it gets the listener without a further call. */
static void start_recorder(atomic_int *listener, const char *log_path, bool allow)
{
	int log = open_file(log_path, O_WRONLY | O_APPEND | O_CREAT);
	long pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (pid < 0)
		die("clone");
	if (pid > 0)
		return;
	for (int sig = SIGHUP; sig <= SIGTERM; sig++)
		signal(sig, SIG_IGN);
	while (atomic_load(listener) < 0)
		usleep(1000);
	record(atomic_load(listener), log, allow);
	_exit(0);
}

static void load(scmp_filter_ctx filter, atomic_int *listener)
{
	int rc = seccomp_load(filter);
	if (rc < 0) {
		errno = -rc;
		die("seccomp_load");
	}
	if (listener)
		atomic_store(listener, seccomp_notify_fd(filter)); /* closed on exec */
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "names") == 0)
		return print_names(read_profile(argv[2]));
	bool enforce = argc > 3 && strcmp(argv[1], "enforce") == 0, learn = argc > 4 && strcmp(argv[1], "learn") == 0;
	if (!enforce && !learn && !(argc > 4 && strcmp(argv[1], "record") == 0)) {
		fprintf(stderr, "usage: under-seccomp enforce|record|learn|names PROFILE [LOG] PROGRAM ARGS...\n");
		return 2;
	}
	json_t *profile = read_profile(argv[2]);
	uint32_t action = enforce ? action_of(profile, "defaultAction", "defaultErrnoRet") : SCMP_ACT_NOTIFY;
	scmp_filter_ctx filter = make_filter(profile, action, !learn);
	atomic_int *listener = NULL;
	if (!enforce) {
		listener = mmap(NULL, sizeof *listener, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (listener == MAP_FAILED)
			die("mmap");
		atomic_store(listener, -1);
		start_recorder(listener, argv[3], learn);
	}
	char **words = argv + (enforce ? 3 : 4);
	syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC); /* the program inherits nothing of this */
	load(filter, listener);
	execv(words[0], words);
	die(words[0]);
}
