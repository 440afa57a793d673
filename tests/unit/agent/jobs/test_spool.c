#include "agent/jobs/spool.h"

#include "agent/jobs/spool_state.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[64];

static void set_up(void)
{
	strcpy(root, "/tmp/spool-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
}

static void tear_down(void)
{
	char command[100];
	snprintf(command, sizeof command, "rm -rf %s", root);
	cr_expect_eq(system(command), 0);
}

TestSuite(spool, .init = set_up, .fini = tear_down);

static struct spool *open_spool(int64_t quota)
{
	struct err e = ERR_INIT;
	struct spool *s = spool_new(root, quota, &e);
	cr_assert_not_null(s, "%s", e.message);
	return s;
}

static void put_file(struct spool *s, const char *job, const char *name, size_t size)
{
	struct err e = ERR_INIT;
	AUTO_FD int dir_fd = spool_job_create(s, job, &e);
	cr_assert_geq(dir_fd, 0, "%s", e.message);
	AUTO_FD int fd = openat(dir_fd, name, O_WRONLY | O_CREAT, 0600);
	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, (off_t)size), 0);
}

static void make_order(struct link_order *o)
{
	*o = (struct link_order){.job_id = "job-1", .session_namespace = "shop", .session_name = "s", .session_uid = "u", .pod_namespace = "shop",
				 .pod_name = "p", .pod_uid = "pu", .deadline_wall_ms = 1234567890123, .container_count = 1};
	strcpy(o->containers[0].name, "app");
	strcpy(o->containers[0].id, "abcdef");
	session_spec_init(&o->spec, PROFILER_CPU_HOTPATHS);
	o->spec.target.pod_name = mem_strdup("p");
	o->spec.duration_seconds = 17;
}

static void make_job(struct link_job *j)
{
	*j = (struct link_job){.job_id = "job-1", .phase = JOB_DELIVERING, .reason = mem_strdup(REASON_Delivering),
			       .message = mem_strdup("with \"quotes\"\n\x01 and \xe6\x97\xa5"), .pid = 42, .headline = mem_strdup("84% of CPU in Tax"),
			       .diagnosis = mem_strdup("line 1\nline 2"), .started_wall_ms = 99, .report_count = 2,
			       .cost = {.max_pause_us = 5, .samples = 1000}};
	for (size_t i = 0; i < j->report_count; i++) {
		struct link_report *r = &j->reports[i];
		snprintf(r->name, sizeof r->name, "report-%zu", i);
		strcpy(r->media_type, "text/plain");
		memset(r->sha256, '0' + (int)i, 64);
		r->size_bytes = 1000 * (int64_t)(i + 1);
		r->delivered = i == 0;
	}
}

Test(spool, a_job_comes_back_as_it_was_after_a_restart)
{
	struct link_order order, got_order = {0};
	struct link_job job, got = {0};
	struct err e = ERR_INIT;
	make_order(&order);
	make_job(&job);
	struct spool *s = open_spool(1 << 20);
	close(spool_job_create(s, "job-1", &e));
	cr_assert_eq(spool_job_save(s, "job-1", &order, &job, &e), 0, "%s", e.message);
	spool_free(s);
	s = open_spool(1 << 20);
	cr_assert_eq(spool_job_load(s, "job-1", &got_order, &got, &e), 0, "%s", e.message);
	cr_expect_str_eq(got_order.job_id, "job-1");
	cr_expect_str_eq(got_order.containers[0].id, "abcdef");
	cr_expect_eq(got_order.spec.duration_seconds, 17);
	cr_expect_eq(got_order.deadline_wall_ms, 1234567890123);
	cr_expect_eq(got.phase, JOB_DELIVERING);
	cr_expect_str_eq(got.message, job.message);
	cr_expect_str_eq(got.diagnosis, "line 1\nline 2");
	cr_expect_eq(got.cost.samples, 1000);
	cr_assert_eq(got.report_count, 2);
	cr_expect_eq(memcmp(got.reports, job.reports, 2 * sizeof job.reports[0]), 0);
	session_spec_fini(&order.spec);
	session_spec_fini(&got_order.spec);
	link_job_fini(&job);
	link_job_fini(&got);
	spool_free(s);
}

Test(spool, reasons_of_disks)
{
	cr_expect_str_eq(reason_of_write_error(ENOSPC), REASON_SpoolFull);
	cr_expect_str_eq(reason_of_write_error(EDQUOT), REASON_SpoolFull);
	cr_expect_str_eq(reason_of_write_error(EROFS), REASON_SpoolUnusable);
	cr_expect_str_eq(reason_of_write_error(EIO), REASON_SpoolUnusable);
	cr_expect_null(reason_of_write_error(EOVERFLOW));
	cr_expect_null(reason_of_write_error(0));
}

Test(spool, a_folder_that_was_removed_is_made_again)
{
	struct err e = ERR_INIT;
	struct spool *s = open_spool(1 << 20);
	char jobs[80];
	snprintf(jobs, sizeof jobs, "%s/jobs", root);
	cr_assert_eq(rmdir(jobs), 0);
	AUTO_FD int fd = spool_job_create(s, "job-1", &e);
	cr_expect_geq(fd, 0, "%s", e.message);
	spool_free(s);
}

Test(spool, numbers_are_kept_in_their_place)
{
	struct err e = ERR_INIT;
	struct spool *s = open_spool(1 << 20);
	static const int64_t values[] = {1, 12, INT64_MAX, 3};
	struct stat first = {0}, now;
	char path[80];
	snprintf(path, sizeof path, "%s/epoch", root);
	cr_expect_eq(spool_get_number(s, "epoch"), 0);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		cr_assert_eq(spool_set_number(s, "epoch", values[i], &e), 0, "%s", e.message);
		cr_expect_eq(spool_get_number(s, "epoch"), values[i]);
		cr_assert_eq(stat(path, i ? &now : &first), 0);
		cr_expect(i == 0 || (now.st_ino == first.st_ino && now.st_size == first.st_size));
	}
	spool_free(s);
}

Test(spool, state_that_is_torn_or_not_ours_is_refused)
{
	struct link_order order, out_order;
	struct link_job job, out_job;
	struct err e = ERR_INIT;
	make_order(&order);
	make_job(&job);
	AUTO_FREE char *text = spool_state_encode(&order, &job, 1 << 20, &e);
	cr_assert_not_null(text, "%s", e.message);
	size_t len = strlen(text);
	for (size_t cut = 0; cut < len; cut += 7) {
		struct err torn = ERR_INIT;
		cr_expect_eq(spool_state_decode(text, cut, &out_order, &out_job, &torn), -1, "cut at %zu", cut);
		cr_expect_neq(torn.kind, ERR_NONE);
	}
	static const char *const bad[] = {"{}", "[]", "{\"order\":{},\"job\":{}}", "{\"order\":1,\"job\":2}",
					  "{\"order\":{\"type\":\"token\",\"token\":\"x\"},\"job\":{}}"};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct err refused = ERR_INIT;
		cr_expect_eq(spool_state_decode(bad[i], strlen(bad[i]), &out_order, &out_job, &refused), -1, "%s", bad[i]);
	}
	for (size_t max = len - 1; max <= len; max++) {
		struct err large = ERR_INIT;
		AUTO_FREE char *again = spool_state_encode(&order, &job, max, &large);
		cr_expect_eq(again != NULL, max >= len);
		cr_expect_eq(large.kind, max >= len ? ERR_NONE : ERR_INVALID);
	}
	session_spec_fini(&order.spec);
	link_job_fini(&job);
}

Test(spool, ids_cannot_leave_the_folder)
{
	static const char *const bad[] = {"", ".", "..", "../x", "a/b", ".hidden", "a b", "a\nb", "a%2Fb", "\xc3\xbc",
					  "0123456789012345678901234567890123456789012345678901234567890123"};
	struct spool *s = open_spool(1 << 20);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct err e = ERR_INIT;
		cr_expect_eq(spool_job_create(s, bad[i], &e), -1, "'%s'", bad[i]);
		cr_expect_eq(e.kind, ERR_PROTOCOL, "'%s'", bad[i]);
		spool_job_remove(s, bad[i]);
	}
	put_file(s, "012345678901234567890123456789012345678901234567890123456789012", "f", 1); /* 63 bytes */
	put_file(s, "a.b-c_D", "f", 1);
	cr_expect_eq(spool_used_bytes(s), 2);
	spool_free(s);
}

Test(spool, a_link_in_a_jobs_place_is_not_followed)
{
	struct spool *s = open_spool(1 << 20);
	AUTO_FREE char *outside = mem_printf("%s/outside", root);
	AUTO_FREE char *link_path = mem_printf("%s/jobs/link", root);
	AUTO_FREE char *kept = mem_printf("%s/outside/kept", root);
	struct err e = ERR_INIT;
	cr_assert_eq(mkdir(outside, 0700), 0);
	cr_assert_eq(fsio_write_atomic(kept, "x", 1, 0600, &e), 0);
	cr_assert_eq(symlink(outside, link_path), 0);
	cr_expect_eq(spool_job_open(s, "link", &e), -1);
	cr_expect_eq(spool_job_create(s, "link", NULL), -1);
	spool_job_remove(s, "link");
	cr_expect_eq(access(kept, F_OK), 0);
	spool_free(s);
}

Test(spool, the_quota_refuses_new_jobs_until_there_is_room)
{
	struct spool *s = open_spool(1000);
	put_file(s, "a", "f", 999);
	put_file(s, "b", "f", 1);
	struct err e = ERR_INIT;
	cr_expect_eq(spool_used_bytes(s), 1000);
	cr_expect_eq(spool_left_bytes(s), 1, "none: but not as many as one likes");
	cr_expect_eq(spool_job_create(s, "c", &e), -1);
	cr_expect_eq(e.kind, ERR_RETRY);
	cr_expect_str_eq(e.reason, REASON_SpoolFull);
	spool_job_remove(s, "b");
	cr_expect_eq(spool_left_bytes(s), 1);
	struct err gone = ERR_INIT;
	cr_expect_eq(spool_job_open(s, "b", &gone), -1);
	cr_expect_eq(gone.kind, ERR_NOT_FOUND);
	put_file(s, "c", "f", 1);
	char **ids;
	size_t count = spool_list(s, &ids);
	cr_expect_eq(count, 2);
	for (size_t i = 0; i < count; i++) {
		cr_expect(strcmp(ids[i], "a") == 0 || strcmp(ids[i], "c") == 0, "%s", ids[i]);
		free(ids[i]);
	}
	free(ids);
	spool_free(s);
}

Test(spool, numbers_stay)
{
	struct spool *s = open_spool(1000);
	struct err e = ERR_INIT;
	cr_expect_eq(spool_get_number(s, "epoch"), 0);
	cr_expect_eq(spool_set_number(s, "epoch", 41, &e), 0);
	cr_expect_eq(spool_set_number(s, "epoch", INT64_MAX, &e), 0);
	spool_free(s);
	s = open_spool(1000);
	cr_expect_eq(spool_get_number(s, "epoch"), INT64_MAX);
	spool_free(s);
}

Test(spool, a_folder_that_cannot_be_made_is_told)
{
	struct err e = ERR_INIT;
	cr_expect_null(spool_new("/proc/no/such", 1000, &e));
	cr_expect_not_null(strstr(e.message, "/proc/no"), "%s", e.message);
	spool_free(NULL);
}
