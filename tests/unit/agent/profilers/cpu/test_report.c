#include "agent/profilers/cpu/cpu_profile.h"
#include "agent/profilers/cpu/cpu_report.h"
#include "agent/report/report_file.h"
#include "agent/report/report_head.h"
#include "common/base/cleanup.h"
#include "tests/unit/agent/stacks/make_capture.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct session_spec spec = {.profiler = PROFILER_CPU_HOTPATHS};
static const struct report_context context = {"cpu", "shop", "uid", "checkout-1", "app", "node-1", NULL};

static char folder[64];
static int reports_fd;

static void open_folder(void)
{
	snprintf(folder, sizeof folder, "/tmp/drdotnet-test-XXXXXX");
	cr_assert(mkdtemp(folder));
	reports_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(reports_fd, 0);
}

static size_t files_there(bool remove)
{
	size_t count = 0;
	DIR *d = fdopendir(dup(reports_fd));
	rewinddir(d);
	for (struct dirent *e; (e = readdir(d));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		count++;
		if (remove)
			unlinkat(reports_fd, e->d_name, 0);
	}
	closedir(d);
	return count;
}

static void close_folder(void)
{
	files_there(true);
	close(reports_fd);
	rmdir(folder);
}

static char *read_file(const char *name, size_t *len)
{
	AUTO_FD int fd = openat(reports_fd, name, O_RDONLY | O_CLOEXEC);
	struct stat s;
	cr_assert(fd >= 0 && fstat(fd, &s) == 0, "%s", name);
	char *data = mem_alloc((size_t)s.st_size + 1);
	*len = (size_t)read(fd, data, (size_t)s.st_size);
	data[*len] = '\0';
	cr_expect_eq(s.st_mode & 0777, 0644);
	return data;
}

static void check_digest(const struct link_report *r)
{
	unsigned char digest[32];
	char hex[65];
	size_t len;
	AUTO_FREE char *data = read_file(r->name, &len);
	cr_expect_eq((int64_t)len, r->size_bytes, "%s", r->name);
	EVP_Digest(data, len, digest, NULL, EVP_sha256(), NULL);
	for (int i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	cr_expect_str_eq(hex, r->sha256, "%s", r->name);
}

TestSuite(report, .init = open_folder, .fini = close_folder);

Test(report, files_are_what_their_descriptions_say)
{
	static const char *const names[] = {"summary.md", "report.json", "report.html", "profile.pb.gz", "stacks.folded", "profile.speedscope.json"};
	struct made m;
	struct report_result r;
	struct err e = ERR_INIT;
	make_begin(&m);
	make_samples(&m, "worker", 80, "app:Shop.Cart:Total;app:Shop.Tax:Compute");
	make_samples(&m, "a;b", 20, "app:Shop.Cart:Total");
	umask(0077);
	cr_assert_eq(cpu_report_write(&m.capture, &spec, &context, reports_fd, &r, &e), 0, "%s", e.message);
	cr_expect_str_eq(r.headline, "80% of CPU in Shop.Tax.Compute");
	cr_expect(strncmp(r.diagnosis, r.headline, strlen(r.headline)) == 0);
	cr_assert_eq(r.report_count, 6);
	for (size_t i = 0; i < 6; i++) {
		cr_expect_str_eq(r.reports[i].name, names[i]);
		cr_expect_gt(strlen(r.reports[i].media_type), 0);
		check_digest(&r.reports[i]);
	}
	cr_expect_eq(files_there(false), 6, "nothing temporary is left");
	size_t len;
	AUTO_FREE char *folded = read_file("stacks.folded", &len);
	cr_expect_str_eq(folded, "a:b;Shop.Cart.Total 20\nworker;Shop.Cart.Total;Shop.Tax.Compute 80\n", "%s", folded);
	report_result_fini(&r);
	make_end(&m);
}

/* Threads of a pool share a name: their stacks are one line. */
Test(report, folded_stacks_join_threads_of_one_name)
{
	struct made m;
	struct report_result r;
	struct err e = ERR_INIT;
	make_begin(&m);
	uint32_t deep = make_stack(&m, "app:A:A;app:B:B;app:C:C", false), shallow = make_stack(&m, "app:A:A", false);
	uint32_t other = make_stack(&m, "app:A:A;app:D:D", false);
	for (int64_t tid = 1; tid <= 3; tid++) {
		uint32_t thread = capture_add_thread(m.builder, tid, tid == 3 ? "" : "pool");
		for (int i = 0; i < 4; i++)
			capture_add_sample(m.builder, i, thread, i == 0 ? shallow : i == 1 ? other : deep);
	}
	cr_assert_eq(cpu_report_write(&m.capture, &spec, &context, reports_fd, &r, &e), 0, "%s", e.message);
	size_t len;
	AUTO_FREE char *folded = read_file("stacks.folded", &len);
	const char *expected = "pool;A.A 2\n(no name);A.A 1\n"
			       "pool;A.A;B.B;C.C 4\n(no name);A.A;B.B;C.C 2\n"
			       "pool;A.A;D.D 2\n(no name);A.A;D.D 1\n";
	cr_expect_str_eq(folded, expected, "%s", folded);
	report_result_fini(&r);
	make_end(&m);
}

/* What a session could not see is said where a reader begins, whatever the profiler: right below the line that says where and how much. */
Test(report, limits_that_were_reached_stand_on_the_first_screen)
{
	static const char line[] = "Limit reached: 3,000 threads, timers for 2,048.";
	struct made m;
	struct report_result r;
	struct err e = ERR_INIT;
	size_t len;
	make_begin(&m);
	make_samples(&m, "worker", 100, "app:Shop.Cart:Total");
	limits_note(&m.capture.facts.limits, "timers", 2048, 3000, "%s threads, timers for %s.", "3,000", "2,048");
	limits_note(&m.capture.facts.limits, "roots", -1, 7, "Second.");
	cr_assert_eq(cpu_report_write(&m.capture, &spec, &context, reports_fd, &r, &e), 0, "%s", e.message);
	static const char lines[] = "100% of CPU in Shop.Cart.Total\nUsed 0.1 of the node's 4 CPUs (no limit set).\n"
				    "Limit reached: 3,000 threads, timers for 2,048.\nLimit reached: Second.\n1 of 1 thread is busy";
	cr_expect_eq(strncmp(r.diagnosis, lines, sizeof lines - 1), 0, "%s", r.diagnosis);
	cr_expect_str_eq(r.headline, "100% of CPU in Shop.Cart.Total");
	AUTO_FREE char *summary = read_file("summary.md", &len), *page = read_file("report.html", &len), *json = read_file("report.json", &len);
	cr_expect(strstr(summary, line) && strstr(summary, line) < strstr(summary, " busy"), "%s", summary);
	cr_expect(strstr(page, line));
	cr_expect(strstr(json, "\"limitsReached\":[\n{\"name\":\"timers\",\"limit\":2048,\"seen\":3000,\"meaning\":\"3,000 threads, timers for 2,048.\"},\n"
			       "{\"name\":\"roots\",\"limit\":null,\"seen\":7,\"meaning\":\"Second.\"}]"), "%s", json);
	cr_expect(strstr(json, line), "in the diagnosis, too");
	report_result_fini(&r);
	make_end(&m);
}

/* The page says what a tail call hides where stacks are exact, and how many may lack callers: from these members (tests/system/report). */
Test(report, stacks_tell_how_they_were_taken)
{
	for (int exact = 0; exact < 2; exact++) {
		struct made m;
		struct report_result r;
		struct err e = ERR_INIT;
		size_t len;
		make_begin(&m);
		make_samples(&m, "worker", 100, "app:Shop.Cart:Total");
		m.capture.exact_stacks = exact;
		m.capture.stack_gaps[STACK_GAP_DEEP] = exact ? 7 : 0;
		cr_assert_eq(cpu_report_write(&m.capture, &spec, &context, reports_fd, &r, &e), 0, "%s", e.message);
		AUTO_FREE char *json = read_file("report.json", &len);
		cr_expect_eq(strstr(json, "\"stacks\":\"code\",\"incompleteStacks\":7,") != NULL, exact, "%s", json);
		cr_expect_eq(strstr(json, "\"stacks\":\"framePointers\",\"incompleteStacks\":0,") != NULL, !exact);
		report_result_fini(&r);
		make_end(&m);
		files_there(true);
	}
}

Test(report, callers_that_may_be_missing_are_told)
{
	struct limits l = {.count = 0};
	limits_note_callers(&l, 400, 3);
	cr_assert_eq(l.count, 1);
	cr_expect_str_eq(l.list[0].name, "callers");
	cr_expect_eq(l.list[0].limit, 400);
	cr_expect_eq(l.list[0].seen, 397);
	cr_expect(strstr(l.list[0].meaning, "Callers may be missing from 3 of 400 stacks: "), "%s", l.list[0].meaning);
}

Test(report, limits_are_bounded)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"};
	struct limits l = {.count = 0};
	char longest[1000];
	memset(longest, 'x', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	limits_note(&l, "a", 1, 2, "first");
	for (size_t i = 0; i < LIMITS_MAX + 1; i++)
		limits_note(&l, names[i], 10, (int64_t)i, i ? "%.200s" : "%s", longest);
	cr_expect_eq(l.count, LIMITS_MAX);
	cr_expect_eq(l.list[0].limit, 10, "the last note of a name holds");
	cr_expect_eq(strlen(l.list[0].meaning), LIMIT_MEANING_BYTES - 1, "cut");
	struct session_facts facts = {.limits = l};
	const struct report_head head = {.facts = &facts, .headline = "headline", .text = "headline\nmore"};
	AUTO_BUF struct buf text;
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	report_head_text(&head, &text);
	cr_expect_leq(text.len, DIAGNOSIS_MAX_BYTES);
	cr_expect(!text.full && strstr(buf_str(&text), "\nmore"), "a short line fits where a long one does not");
}

Test(report, no_samples_give_a_report)
{
	struct made m;
	struct report_result r;
	struct err e = ERR_INIT;
	make_begin(&m);
	m.capture.process_cpu_ns = 5 * MAKE_SECOND;
	cr_assert_eq(cpu_report_write(&m.capture, &spec, &context, reports_fd, &r, &e), 0, "%s", e.message);
	cr_expect_str_eq(r.headline, "0.5 CPUs were used, but no sample could be taken");
	cr_expect_eq(files_there(false), 6);
	report_result_fini(&r);
	make_end(&m);
}

/* A full disk, or what looks like one: the files that stand are whole, and no piece of another. */
Test(report, what_cannot_be_written_is_not_there)
{
	struct made m;
	struct report_result r;
	make_begin(&m);
	for (int i = 0; i < 2000; i++) {
		char stack[100];
		snprintf(stack, sizeof stack, "app:Shop.Cart:Total;app:Shop.Tax%d:Compute", i);
		make_samples(&m, "worker", 1, stack);
	}
	signal(SIGXFSZ, SIG_IGN);
	for (rlim_t limit = 16; limit < 4096 * 1024; limit *= 8) {
		struct err e = ERR_INIT;
		struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY}, some = {limit, RLIM_INFINITY};
		setrlimit(RLIMIT_FSIZE, &some);
		int rc = cpu_report_write(&m.capture, &spec, &context, reports_fd, &r, &e);
		setrlimit(RLIMIT_FSIZE, &all);
		cr_expect_eq(files_there(false), r.report_count, "limit %llu", (unsigned long long)limit);
		for (size_t i = 0; i < r.report_count; i++)
			check_digest(&r.reports[i]);
		cr_expect(rc == 0 || (limit < 1024 * 1024 && e.kind != ERR_NONE && strstr(e.message, "write")), "limit %llu: %s",
			  (unsigned long long)limit, e.message);
		report_result_fini(&r);
		files_there(true);
	}
	make_end(&m);
}

Test(report, a_folder_that_is_gone_is_an_error)
{
	struct made m;
	struct report_result r;
	struct err e = ERR_INIT;
	make_begin(&m);
	rmdir(folder);
	cr_expect_eq(cpu_report_write(&m.capture, &spec, &context, reports_fd, &r, &e), -1);
	cr_expect_neq(e.kind, ERR_NONE);
	cr_expect_eq(r.report_count, 0);
	report_result_fini(&r);
	make_end(&m);
}

/* The page shows report.json, which has all there is: each node, and what each thread and each time left there. */
Test(report, nothing_is_left_out_of_the_tree)
{
	struct made m;
	struct report_result r;
	struct err e = ERR_INIT;
	size_t len;
	make_begin(&m);
	m.capture.facts.duration_ns = 60 * MAKE_SECOND;
	uint32_t deep = make_stack(&m, "app:A:A;app:B:B", false), shallow = make_stack(&m, "app:A:A", false);
	for (int64_t tid = 1; tid <= 2; tid++) {
		uint32_t thread = capture_add_thread(m.builder, tid, "pool");
		for (int i = 0; i < 3; i++)
			capture_add_sample(m.builder, (i ? 59 : 0) * MAKE_SECOND, thread, i == 2 && tid == 2 ? shallow : deep);
	}
	cr_assert_eq(cpu_report_write(&m.capture, &spec, &context, reports_fd, &r, &e), 0, "%s", e.message);
	AUTO_FREE char *json = read_file("report.json", &len);
	cr_expect(strstr(json, "\"tree\":{\"parent\":[-1,0,1],\n\"method\":[-1,0,1],\n\"self\":[0,1,5],\n\"total\":[6,6,5]},\n"
			       "\"leaves\":{\"node\":[1,2,2],\n\"thread\":[1,0,1],\n\"weight\":[1,3,2]},\n"
			       "\"leavesOverTime\":{\"node\":[1,2,2],\n\"bucket\":[59,0,59],\n\"weight\":[1,2,3]},"), "%s", json);
	report_result_fini(&r);
	make_end(&m);
}
