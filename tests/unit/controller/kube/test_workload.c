#include "controller/kube/workload.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define JOB(name, uid, labels, created)                                                                                                     \
	"{\"metadata\":{\"name\":\"p\",\"creationTimestamp\":\"" created "\",\"labels\":{" labels "},"                                            \
	"\"ownerReferences\":[{\"kind\":\"Job\",\"name\":\"" name "\",\"uid\":\"" uid "\",\"controller\":true}]}}"
#define LABELS(name, uid) "\"batch.kubernetes.io/job-name\":\"" name "\",\"batch.kubernetes.io/controller-uid\":\"" uid "\""

/* 29930257 minutes: 2026-11-27T21:37Z */
Test(workload, runs_of_a_cron_job_are_one)
{
	static const struct {
		const char *pod, *workload;
	} rows[] = {
		{JOB("nightly-29930257", "u", LABELS("nightly-29930257", "u"), "2026-11-27T21:37:00Z"), "CronJob/nightly"},
		{JOB("nightly-29930257", "u", LABELS("nightly-29930257", "u"), "2026-12-04T21:37:59Z"), "CronJob/nightly"},
		{JOB("nightly-29930257", "u", LABELS("nightly-29930257", "u"), "2026-12-04T21:38:00Z"), "Job/nightly-29930257"},
		{JOB("nightly-29930257", "u", LABELS("nightly-29930257", "u"), "2026-11-27T21:36:59Z"), "Job/nightly-29930257"},
		{JOB("nightly-29930257", "u", LABELS("nightly-29930257", "other"), "2026-11-27T21:37:10Z"), "Job/nightly-29930257"},
		{JOB("nightly-29930257", "u", LABELS("other", "u"), "2026-11-27T21:37:10Z"), "Job/nightly-29930257"},
		{JOB("nightly-29930257", "u", "", "2026-11-27T21:37:10Z"), "Job/nightly-29930257"},
		{JOB("backup-20261127", "u", LABELS("backup-20261127", "u"), "2026-11-27T21:37:10Z"), "Job/backup-20261127"},
		{JOB("-29930257", "u", LABELS("-29930257", "u"), "2026-11-27T21:37:10Z"), "Job/-29930257"},
		{JOB("nightly-2993025", "u", LABELS("nightly-2993025", "u"), "2026-11-27T21:37:10Z"), "Job/nightly-2993025"},
		{JOB("nightly-029930257", "u", LABELS("nightly-029930257", "u"), "2026-11-27T21:37:10Z"), "Job/nightly-029930257"},
		{JOB("nightly", "u", LABELS("nightly", "u"), "2026-11-27T21:37:10Z"), "Job/nightly"},
		{"{\"metadata\":{\"name\":\"p\"}}", "Pod/p"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct err e = ERR_INIT;
		char text[WORKLOAD_TEXT_SIZE];
		AUTO_JSON json_t *pod = jsonx_parse(rows[i].pod, strlen(rows[i].pod), "test", &e);
		cr_assert_not_null(pod, "%s", e.message);
		workload_text_of_pod(pod, text);
		cr_expect_str_eq(text, rows[i].workload, "row %zu: %s", i, text);
	}
}
