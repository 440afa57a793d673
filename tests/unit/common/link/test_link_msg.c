#include "common/base/cleanup.h"
#include "common/base/jsonx.h"
#include "common/base/mem.h"
#include "common/link/link_msg.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHA "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define REPORT "{\"name\":\"summary.md\",\"mediaType\":\"text/markdown\",\"sizeBytes\":12,\"sha256\":\"" SHA "\",\"delivered\":true}"
#define JOB_BODY \
	"\"jobID\":\"job-1\",\"phase\":\"Delivering\",\"reason\":\"Delivering\",\"message\":\"waits\",\"queuePosition\":2,\"container\":\"app\"," \
	"\"containerID\":\"abc\",\"pid\":7,\"processEnded\":true,\"runtimeVersion\":\"10.0.1\",\"headline\":\"84% \xE2\x82\xAC\",\"diagnosis\":\"a\\nb\"," \
	"\"firstSampleTime\":3,\"startTime\":2,\"completionTime\":9,\"cost\":{\"maxPauseMicroseconds\":1,\"maxWaitMicroseconds\":8," \
	"\"addedCPUMilliseconds\":2," \
	"\"agentCPUMilliseconds\":3,\"droppedSamples\":4,\"samples\":5,\"blockingCollections\":6,\"blockingCollectionMicroseconds\":7}," \
	"\"reports\":[" REPORT "],\"session\":{\"namespace\":\"shop\",\"name\":\"s\"}"
#define OBSERVE "{\"type\":\"observe\",\"epoch\":1,\"validSeconds\":9,\"items\":[{"
#define OBSERVED_POD OBSERVE "\"id\":\"t\",\"podUID\":\"u\",\"container\":\"c\",\"containerID\":\"d\","
#define SPEC \
	"{\"profiler\":\"CPUHotpaths\",\"target\":{\"podName\":\"pod-0\",\"maxPods\":1},\"durationSeconds\":30,\"cpuHotpaths\":{\"frequencyHertz\":99}," \
	"\"pauseBudgetMilliseconds\":200,\"output\":{\"store\":\"default\"},\"activeDeadlineSeconds\":600,\"ttlSecondsAfterFinished\":604800," \
	"\"cancel\":false}"
#define ORDER_HEAD \
	"{\"type\":\"order\",\"epoch\":4,\"jobID\":\"job-1\",\"session\":{\"namespace\":\"shop\",\"name\":\"s\",\"uid\":\"u-1\"," \
	"\"requestedBy\":\"oidc:jane@example.com\"}," \
	"\"pod\":{\"namespace\":\"shop\",\"name\":\"p\",\"uid\":\"u-2\",\"containers\":[{\"name\":\"app\",\"id\":\"abc\"},{\"name\":\"side\"}]}," \
	"\"deadlineTime\":77,\"millisecondsLeft\":5,\"spec\":"

/* Each message as an implementation from the document would write it. */
static const char *const texts[] = {
	[LINK_MSG_HELLO] = "{\"type\":\"hello\",\"epoch\":3,\"agentVersion\":\"1.2.3\",\"bootID\":\"b-1\",\"mode\":\"hostPID\",\"perfEvents\":true,"
			   "\"processQueries\":true,\"podStarts\":true,\"jobsComplete\":true,"
			   "\"profilers\":[\"CPUHotpaths\"],\"jobs\":[{" JOB_BODY "}]}",
	[LINK_MSG_JOBS_COMPLETE] = "{\"type\":\"jobsComplete\",\"epoch\":4}",
	[LINK_MSG_STARTED] = "{\"type\":\"started\",\"podUID\":\"u-2\",\"containerID\":\"abc\"}",
	[LINK_MSG_AWAIT_STARTS] = "{\"type\":\"awaitStarts\",\"epoch\":4,\"validSeconds\":120,\"pods\":["
				  "{\"uid\":\"u-2\",\"namespace\":\"shop\",\"frequencyHertz\":99}]}",
	[LINK_MSG_TOKEN] = "{\"type\":\"token\",\"token\":\"a.b.c\"}",
	[LINK_MSG_JOB] = "{\"type\":\"job\"," JOB_BODY "}",
	[LINK_MSG_UPLOAD_REQUEST] = "{\"type\":\"uploadRequest\",\"jobID\":\"job-1\",\"report\":" REPORT "}",
	[LINK_MSG_USAGE] = "{\"type\":\"usage\",\"requestID\":8,\"pods\":[{\"uid\":\"u-2\",\"cpuMillicores\":250,\"memoryBytes\":-1}]}",
	[LINK_MSG_LEADER] = "{\"type\":\"leader\",\"epoch\":4}",
	[LINK_MSG_ORDER] = ORDER_HEAD SPEC "}",
	[LINK_MSG_CANCEL] = "{\"type\":\"cancel\",\"epoch\":4,\"jobID\":\"job-1\"}",
	[LINK_MSG_FORGET] = "{\"type\":\"forget\",\"epoch\":4,\"jobID\":\"job-1\"}",
	[LINK_MSG_UPLOAD_GRANT] = "{\"type\":\"uploadGrant\",\"jobID\":\"job-1\",\"name\":\"summary.md\",\"url\":\"https://s/x?y=1\","
				  "\"contentType\":\"text/markdown\",\"expirationTime\":99,\"ownStore\":true}",
	[LINK_MSG_UPLOAD_DENIED] = "{\"type\":\"uploadDenied\",\"jobID\":\"job-1\",\"name\":\"summary.md\",\"reason\":\"StoreNotFound\","
				   "\"message\":\"no such store\",\"retry\":true}",
	[LINK_MSG_OBSERVED] = "{\"type\":\"observed\",\"items\":[{\"id\":\"t-1\",\"podUID\":\"u-2\",\"container\":\"app\",\"state\":\"Above\","
			      "\"value\":950,"
			      "\"whole\":1000,\"sinceTime\":5},"
			      "{\"id\":\"t-2\",\"podUID\":\"u-2\",\"container\":\"app\",\"state\":\"NoLimit\",\"value\":0,\"sinceTime\":6}]}",
	[LINK_MSG_OBSERVE] = "{\"type\":\"observe\",\"epoch\":4,\"validSeconds\":90,\"items\":[{\"id\":\"t-1\",\"podUID\":\"u-2\",\"container\":\"app\","
			     "\"containerID\":\"abc\","
			     "\"resource\":\"cpu\",\"whole\":1000,\"abovePercent\":80,\"forSeconds\":60},"
			     "{\"id\":\"t-2\",\"podUID\":\"u-2\",\"container\":\"side\",\"containerID\":\"def\","
			     "\"resource\":\"memory\",\"abovePercent\":90,\"forSeconds\":1}]}",
	[LINK_MSG_PROCESSES] = "{\"type\":\"processes\",\"requestID\":9,\"more\":true,\"items\":[{\"podUID\":\"u-2\",\"containerID\":\"abc\","
			       "\"container\":\"app\",\"pid\":1,\"user\":10001,\"cpuMillicores\":250,\"memoryBytes\":4096,\"canProfile\":false,"
			       "\"entrypoint\":\"Checkout\",\"runtimeVersion\":\"10.0.1\",\"reason\":\"NoStagingPlace\",\"message\":\"full\"},"
			       "{\"podUID\":\"u-2\",\"pid\":7,\"canProfile\":true}]}",
	[LINK_MSG_PROCESS_QUERY] = "{\"type\":\"processQuery\",\"requestID\":9,\"windowMilliseconds\":500,"
				   "\"pods\":[{\"uid\":\"u-2\",\"namespace\":\"shop\",\"name\":\"cart-1\"}]}",
	[LINK_MSG_USAGE_QUERY] = "{\"type\":\"usageQuery\",\"requestID\":8,\"windowMilliseconds\":1000,\"podUIDs\":[\"u-2\",\"u-3\"]}",
};
#define COUNT (sizeof texts / sizeof *texts)

static int decode(const char *text, struct link_msg *m, struct err *e)
{
	return link_msg_decode(text, strlen(text), m, e);
}

/* Decodes what must decode. */
static struct link_msg good(const char *text)
{
	struct link_msg m;
	struct err e = ERR_INIT;
	cr_assert_eq(decode(text, &m, &e), 0, "%s: %s", text, e.message);
	return m;
}

Test(link_msg, every_message_comes_back_as_it_was)
{
	for (size_t i = LINK_MSG_HELLO; i < COUNT; i++) {
		struct err e = ERR_INIT;
		struct link_msg m = good(texts[i]);
		cr_assert_eq((size_t)m.type, i);
		AUTO_FREE char *again = link_msg_encode(&m, &e);
		cr_assert_not_null(again, "%s", e.message);
		AUTO_JSON json_t *want = json_loads(texts[i], 0, NULL), *got = json_loads(again, 0, NULL);
		cr_expect(json_equal(want, got), "\n%s\n%s", texts[i], again);
		link_msg_fini(&m);
	}
}

Test(link_msg, fields_stand_where_they_belong)
{
	struct link_msg m = good(texts[LINK_MSG_JOB]);
	const struct link_job *j = &m.u.job;
	cr_expect_eq(j->phase, JOB_DELIVERING);
	cr_expect_eq(j->queue_position, 2);
	cr_expect_eq(j->pid, 7);
	cr_expect(j->process_ended);
	cr_expect_str_eq(j->headline, "84% \xE2\x82\xAC");
	cr_expect_str_eq(j->diagnosis, "a\nb");
	cr_expect_eq(j->first_sample_wall_ms, 3);
	cr_expect_eq(j->started_wall_ms, 2);
	cr_expect_eq(j->completed_wall_ms, 9);
	cr_expect(j->cost.max_pause_us == 1 && j->cost.max_wait_us == 8);
	cr_expect_eq(j->cost.dropped_samples, 4);
	cr_expect(j->cost.blocking_collections == 6 && j->cost.blocking_collections_us == 7);
	cr_assert_eq(j->report_count, 1);
	cr_expect_eq(j->reports[0].size_bytes, 12);
	cr_expect(j->reports[0].delivered);
	link_msg_fini(&m);
	m = good(texts[LINK_MSG_ORDER]);
	cr_expect_eq(m.epoch, 4);
	cr_expect_str_eq(m.u.order.session_uid, "u-1");
	cr_expect_str_eq(m.u.order.pod_uid, "u-2");
	cr_assert_eq(m.u.order.container_count, 2);
	cr_expect_str_eq(m.u.order.containers[0].id, "abc");
	cr_expect_str_eq(m.u.order.containers[1].id, "");
	cr_expect_eq(m.u.order.deadline_wall_ms, 77);
	cr_expect_eq(m.u.order.spec.duration_seconds, 30);
	cr_expect_str_eq(m.u.order.spec.target.pod_name, "pod-0");
	link_msg_fini(&m);
	m = good(texts[LINK_MSG_USAGE_QUERY]);
	cr_expect_eq(m.u.usage_query.window_ms, 1000);
	cr_assert_eq(m.u.usage_query.count, 2);
	cr_expect_str_eq(m.u.usage_query.pod_uids[1], "u-3");
	link_msg_fini(&m);
}

Test(link_msg, what_is_not_known_is_passed_over)
{
	struct link_msg m = good("{\"type\":\"of the future\",\"jobID\":[]}");
	cr_expect_eq(m.type, LINK_MSG_UNKNOWN);
	link_msg_fini(&m);
	m = good("{\"type\":\"leader\",\"epoch\":1,\"more\":{\"a\":[1]}}");
	cr_expect_eq(m.type, LINK_MSG_LEADER);
	m = good("{\"type\":\"job\",\"jobID\":\"j\",\"phase\":\"Queued\",\"reason\":null}");
	cr_expect_null(m.u.job.reason);
	link_msg_fini(&m);
}

Test(link_msg, an_order_that_is_not_understood_does_not_end_the_link)
{
	static const char *const specs[][2] = {
		{"{\"profiler\":\"CPUHotpaths\",\"target\":{\"podName\":\"p\"},\"ofTheFuture\":1}}", "spec.ofTheFuture: unknown field"},
		{"{\"profiler\":\"OfTheFuture\",\"target\":{\"podName\":\"p\"}}}", "spec.profiler: unknown profiler"},
		{"{}}", "spec.profiler"},
	};
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
		AUTO_FREE char *text = mem_printf(ORDER_HEAD "%s", specs[i][0]);
		struct link_msg m = good(text);
		cr_expect_eq(m.type, LINK_MSG_ORDER);
		cr_expect_str_eq(m.u.order.job_id, "job-1");
		cr_expect(strstr(m.u.order.spec_error, specs[i][1]), "%s", m.u.order.spec_error);
		link_msg_fini(&m);
	}
	struct link_msg m = good(texts[LINK_MSG_ORDER]);
	cr_expect_str_eq(m.u.order.spec_error, "");
	link_msg_fini(&m);
}

Test(link_msg, what_is_wrong_is_refused_by_name)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"", "link message"},
		{"null", "expected an object"},
		{"[]", "expected an object"},
		{"{\"epoch\":1}", "type: required"},
		{"{\"type\":7}", "type: expected a string"},
		{"{\"type\":\"leader\"}", "epoch: required"},
		{"{\"type\":\"leader\",\"epoch\":-1}", "epoch: must be"},
		{"{\"type\":\"leader\",\"epoch\":1.5}", "epoch: expected an integer"},
		{"{\"type\":\"leader\",\"epoch\":1}x", "link message"},
		{"{\"type\":\"leader\",\"epoch\":1,\"epoch\":2}", "duplicate"},
		{"{\"type\":\"leader\",\"epoch\":99999999999999999999}", "link message"},
		{"{\"type\":\"token\"}", "token: required"},
		{"{\"type\":\"cancel\",\"epoch\":1}", "jobID: required"},
		{"{\"type\":\"cancel\",\"epoch\":1,\"jobID\":\"\"}", "jobID: empty"},
		{"{\"type\":\"cancel\",\"epoch\":1,\"jobID\":\"../x\"}", "jobID: expected letters"},
		{"{\"type\":\"cancel\",\"epoch\":1,\"jobID\":\"a/b\"}", "jobID: expected letters"},
		{"{\"type\":\"cancel\",\"epoch\":1,\"jobID\":\".hidden\"}", "jobID: expected letters"},
		{"{\"type\":\"cancel\",\"epoch\":1,\"jobID\":\"a\\u0000b\"}", "link message"},
		{"{\"type\":\"job\",\"jobID\":\"j\",\"phase\":\"Dancing\"}", "job.phase: unknown"},
		{"{\"type\":\"job\",\"jobID\":\"j\",\"phase\":\"Queued\",\"reports\":{}}", "job.reports: expected a list"},
		{"{\"type\":\"job\",\"jobID\":\"j\",\"phase\":\"Queued\",\"reports\":[7]}", "job.reports[]: expected an object"},
		{"{\"type\":\"job\",\"jobID\":\"j\",\"phase\":\"Queued\",\"cost\":[]}", "job.cost: expected an object"},
		{"{\"type\":\"job\",\"jobID\":\"j\",\"phase\":\"Queued\",\"pid\":-1}", "job.pid: must be"},
		{"{\"type\":\"uploadRequest\",\"jobID\":\"j\",\"report\":{\"name\":\"../../x\"}}", "uploadRequest.report.name: expected letters"},
		{"{\"type\":\"uploadRequest\",\"jobID\":\"j\",\"report\":{\"name\":\"x\",\"mediaType\":\"a\\nb\",\"sizeBytes\":1,\"sha256\":\"" SHA
		 "\"}}",
		 "mediaType: unexpected character"},
		{"{\"type\":\"uploadRequest\",\"jobID\":\"j\",\"report\":{\"name\":\"x\",\"mediaType\":\"a/b\",\"sizeBytes\":1,\"sha256\":\"ABC\"}}",
		 "sha256: expected 64"},
		{"{\"type\":\"uploadRequest\",\"jobID\":\"j\",\"report\":{\"name\":\"x\",\"mediaType\":\"a/b\",\"sizeBytes\":-1,\"sha256\":\"" SHA
		 "\"}}",
		 "sizeBytes: must be"},
		{"{\"type\":\"processQuery\",\"requestID\":0,\"windowMilliseconds\":0,\"pods\":[]}", "requestID: must be"},
		{"{\"type\":\"processQuery\",\"requestID\":1,\"windowMilliseconds\":5001,\"pods\":[]}", "windowMilliseconds: must be"},
		{"{\"type\":\"processQuery\",\"requestID\":1,\"windowMilliseconds\":0,\"pods\":[7]}", "pods[]: expected an object"},
		{"{\"type\":\"processQuery\",\"requestID\":1,\"windowMilliseconds\":0,\"pods\":[{\"uid\":\"a/b\",\"namespace\":\"a\",\"name\":\"b\"}]}",
		 "pods[].uid: expected"},
		{"{\"type\":\"processes\",\"requestID\":1,\"items\":[{\"podUID\":\"u\",\"pid\":0,\"canProfile\":true}]}", "pid: must be"},
		{"{\"type\":\"processes\",\"requestID\":1,\"items\":[{\"podUID\":\"u\",\"pid\":1,\"canProfile\":1}]}", "canProfile: expected"},
		{"{\"type\":\"usageQuery\",\"requestID\":0,\"windowMilliseconds\":0,\"podUIDs\":[]}", "requestID: must be"},
		{"{\"type\":\"usageQuery\",\"requestID\":1,\"windowMilliseconds\":60001,\"podUIDs\":[]}", "windowMilliseconds: must be"},
		{"{\"type\":\"usageQuery\",\"requestID\":1,\"windowMilliseconds\":0,\"podUIDs\":[\"a/b\"]}", "podUIDs[]: expected a uid"},
		{"{\"type\":\"usage\",\"requestID\":1,\"pods\":[{\"uid\":\"u\",\"cpuMillicores\":-2,\"memoryBytes\":0}]}", "cpuMillicores: must be"},
		{ORDER_HEAD "[]}", "order.spec: expected an object"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct link_msg m;
		struct err e = ERR_INIT;
		cr_expect_eq(decode(rows[i].text, &m, &e), -1, "%s", rows[i].text);
		cr_expect_eq(e.kind, ERR_PROTOCOL, "%s: %s", rows[i].text, err_kind_name(e.kind));
		cr_expect(strstr(e.message, rows[i].why), "%s: %s", rows[i].text, e.message);
		link_msg_fini(&m);
	}
}

Test(link_msg, what_is_wrong_with_observations_is_refused_by_name)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"{\"type\":\"observe\",\"validSeconds\":9,\"items\":[]}", "epoch: required"},
		{"{\"type\":\"observe\",\"epoch\":1,\"validSeconds\":0,\"items\":[]}", "validSeconds: must be"},
		{"{\"type\":\"observe\",\"epoch\":1,\"validSeconds\":3601,\"items\":[]}", "validSeconds: must be"},
		{"{\"type\":\"observe\",\"epoch\":1,\"validSeconds\":9}", "observe.items: required"},
		{"{\"type\":\"observe\",\"epoch\":1,\"validSeconds\":9,\"items\":[1]}", "observe.items[]: expected an object"},
		{OBSERVE "\"id\":\"\",\"podUID\":\"u\"}]}", "observe.items[].id: expected up to 39"},
		{OBSERVE "\"id\":\"t\",\"podUID\":\"../u\"}]}", "observe.items[].podUID: expected up to 39"},
		{OBSERVE "\"id\":\"t\",\"podUID\":\"0123456789012345678901234567890123456789\"}]}", "podUID: expected up to 39"},
		{OBSERVED_POD "\"resource\":\"disk\"}]}", "resource: expected cpu or memory"},
		{OBSERVED_POD "\"resource\":\"cpu\",\"abovePercent\":0,\"forSeconds\":1}]}", "abovePercent: must be"},
		{OBSERVED_POD "\"resource\":\"cpu\",\"abovePercent\":10001,\"forSeconds\":1}]}", "abovePercent: must be"},
		{OBSERVED_POD "\"resource\":\"cpu\",\"abovePercent\":1,\"forSeconds\":0}]}", "forSeconds: must be"},
		{OBSERVED_POD "\"resource\":\"cpu\",\"abovePercent\":1,\"forSeconds\":86401}]}", "forSeconds: must be"},
		{OBSERVED_POD "\"resource\":\"cpu\",\"abovePercent\":1,\"forSeconds\":1,\"whole\":-1}]}", "whole: must be"},
		{"{\"type\":\"observed\"}", "observed.items: required"},
		{"{\"type\":\"observed\",\"items\":[{\"id\":\"t\",\"podUID\":\"u\",\"container\":\"c\",\"state\":\"Odd\",\"sinceTime\":1}]}", "state: unknown"},
		{"{\"type\":\"observed\",\"items\":[{\"id\":\"t\",\"podUID\":\"u\",\"container\":\"c\",\"state\":\"Above\"}]}", "sinceTime: required"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct link_msg m;
		struct err e = ERR_INIT;
		cr_expect_eq(decode(rows[i].text, &m, &e), -1, "%s", rows[i].text);
		cr_expect_eq(e.kind, ERR_PROTOCOL);
		cr_expect(strstr(e.message, rows[i].why), "%s: %s", rows[i].text, e.message);
	}
}

Test(link_msg, what_is_wrong_with_awaited_pods_is_refused_by_name)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"{\"type\":\"awaitStarts\",\"validSeconds\":9,\"pods\":[]}", "epoch: required"},
		{"{\"type\":\"awaitStarts\",\"epoch\":1,\"validSeconds\":3601,\"pods\":[]}", "validSeconds: must be"},
		{"{\"type\":\"awaitStarts\",\"epoch\":1,\"validSeconds\":9,\"frequencyHertz\":99}", "awaitStarts.pods: required"},
		{"{\"type\":\"awaitStarts\",\"epoch\":1,\"validSeconds\":9,\"pods\":[7]}", "pods[]: expected an object"},
		{"{\"type\":\"awaitStarts\",\"epoch\":1,\"validSeconds\":9,\"pods\":[{\"uid\":\"u\",\"namespace\":\"a\",\"frequencyHertz\":1000}]}",
		 "frequencyHertz: must be"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct link_msg m;
		struct err e = ERR_INIT;
		cr_expect_eq(decode(rows[i].text, &m, &e), -1, "%s", rows[i].text);
		cr_expect_eq(e.kind, ERR_PROTOCOL);
		cr_expect(strstr(e.message, rows[i].why), "%s: %s", rows[i].text, e.message);
	}
}

/* A text of `count` copies of `item` (with commas) between head and tail. */
static char *repeat(const char *head, const char *item, size_t count, const char *tail)
{
	struct buf b;
	buf_init(&b, 1024 * 1024);
	buf_puts(&b, head);
	for (size_t i = 0; i < count; i++)
		buf_printf(&b, "%s%s", i ? "," : "", item);
	buf_puts(&b, tail);
	return buf_steal(&b);
}

Test(link_msg, lists_have_bounds)
{
	static const struct {
		const char *head, *item, *tail;
		size_t most;
	} rows[] = {
		{"{\"type\":\"hello\",\"agentVersion\":\"1\",\"bootID\":\"b\",\"mode\":\"hostPID\",\"jobs\":[", "{\"jobID\":\"j\",\"phase\":\"Queued\"}", "]}",
		 LINK_MAX_JOBS},
		{"{\"type\":\"job\",\"jobID\":\"j\",\"phase\":\"Queued\",\"reports\":[", REPORT, "]}", LINK_MAX_REPORTS},
		{"{\"type\":\"usageQuery\",\"requestID\":1,\"windowMilliseconds\":0,\"podUIDs\":[", "\"u\"", "]}", LINK_MAX_PODS},
		{"{\"type\":\"observe\",\"epoch\":1,\"validSeconds\":9,\"items\":[",
		 "{\"id\":\"t\",\"podUID\":\"u\",\"container\":\"c\",\"containerID\":\"d\",\"resource\":\"cpu\",\"abovePercent\":1,\"forSeconds\":1}", "]}",
		 LINK_MAX_OBSERVATIONS},
		{"{\"type\":\"observed\",\"items\":[",
		 "{\"id\":\"t\",\"podUID\":\"u\",\"container\":\"c\",\"state\":\"Above\",\"sinceTime\":1}", "]}", LINK_MAX_OBSERVATIONS},
		{"{\"type\":\"processQuery\",\"requestID\":1,\"windowMilliseconds\":0,\"pods\":[",
		 "{\"uid\":\"u\",\"namespace\":\"a\",\"name\":\"b\"}", "]}", LINK_MAX_QUERIED_PODS},
		{"{\"type\":\"awaitStarts\",\"epoch\":1,\"validSeconds\":9,\"pods\":[",
		 "{\"uid\":\"u\",\"namespace\":\"a\",\"frequencyHertz\":99}", "]}", LINK_MAX_AWAITED_PODS},
		{"{\"type\":\"processes\",\"requestID\":1,\"items\":[", "{\"podUID\":\"u\",\"pid\":1,\"canProfile\":true}", "]}",
		 LINK_MAX_PROCESSES},
		{"{\"type\":\"usage\",\"requestID\":1,\"pods\":[", "{\"uid\":\"u\",\"cpuMillicores\":0,\"memoryBytes\":0}", "]}", LINK_MAX_PODS},
		{"{\"type\":\"order\",\"epoch\":4,\"jobID\":\"job-1\",\"session\":{\"namespace\":\"n\",\"name\":\"s\",\"uid\":\"u\"},"
		 "\"spec\":" SPEC ",\"pod\":{\"namespace\":\"n\",\"name\":\"p\",\"uid\":\"u\",\"containers\":[",
		 "{\"name\":\"c\"}", "]}}", 32},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		for (size_t count = rows[i].most - 1; count <= rows[i].most + 1; count++) {
			AUTO_FREE char *text = repeat(rows[i].head, rows[i].item, count, rows[i].tail);
			struct link_msg m;
			struct err e = ERR_INIT;
			cr_expect_eq(decode(text, &m, &e), count <= rows[i].most ? 0 : -1, "row %zu, %zu: %s", i, count, e.message);
			link_msg_fini(&m);
		}
	}
}

Test(link_msg, texts_have_bounds)
{
	static const struct {
		const char *format;
		int most;
	} rows[] = {
		{"{\"type\":\"cancel\",\"epoch\":1,\"jobID\":\"%s\"}", LINK_ID_SIZE - 1},
		{"{\"type\":\"token\",\"token\":\"%s\"}", 16 * 1024},
		{"{\"type\":\"job\",\"jobID\":\"j\",\"phase\":\"Queued\",\"reason\":\"%s\"}", 64},
		{"{\"type\":\"job\",\"jobID\":\"j\",\"phase\":\"Queued\",\"message\":\"%s\"}", 1024},
		{"{\"type\":\"job\",\"jobID\":\"j\",\"phase\":\"Queued\",\"headline\":\"%s\"}", 320},
		{"{\"type\":\"job\",\"jobID\":\"j\",\"phase\":\"Queued\",\"diagnosis\":\"%s\"}", 2048},
		{"{\"type\":\"uploadGrant\",\"jobID\":\"j\",\"name\":\"n\",\"contentType\":\"t\",\"url\":\"%s\"}", 16384},
		{"{\"type\":\"hello\",\"agentVersion\":\"1\",\"bootID\":\"%s\",\"mode\":\"hostPID\"}", 39},
		{"{\"type\":\"of the future\",\"pad\":\"%s\"}", LINK_MESSAGE_MAX - 33},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		for (int len = rows[i].most - 1; len <= rows[i].most + 1; len++) {
			AUTO_FREE char *pad = mem_printf("%0*d", len, 0);
			AUTO_FREE char *text = mem_printf(rows[i].format, pad);
			struct link_msg m;
			struct err e = ERR_INIT;
			cr_expect_eq(decode(text, &m, &e), len <= rows[i].most ? 0 : -1, "row %zu, %d bytes: %s", i, len, e.message);
			link_msg_fini(&m);
		}
	}
}

Test(link_msg, no_part_of_a_message_is_a_message)
{
	for (size_t i = LINK_MSG_HELLO; i < COUNT; i++) {
		for (size_t len = 0; len < strlen(texts[i]); len++) {
			/* of exactly this size, so that a read behind the end is found */
			AUTO_FREE char *part = mem_strndup(texts[i], len);
			struct link_msg m;
			cr_assert_eq(link_msg_decode(part, len, &m, NULL), -1, "%.*s", (int)len, texts[i]);
			link_msg_fini(&m);
		}
	}
}

Test(link_msg, the_writer_cuts_and_cleans_what_processes_say)
{
	AUTO_FREE char *head = mem_printf("%0*d\xE2\x82\xAC", 319, 0), *torn = mem_strdup("a\xFF\xC3(b");
	struct link_msg m = {.type = LINK_MSG_JOB, .u.job = {.job_id = "j", .phase = JOB_QUEUED, .headline = head, .message = torn}};
	struct err e = ERR_INIT;
	AUTO_FREE char *text = link_msg_encode(&m, &e);
	cr_assert_not_null(text, "%s", e.message);
	struct link_msg got = good(text);
	cr_expect_eq(strlen(got.u.job.headline), 319, "a character is not cut in two");
	cr_expect_str_eq(got.u.job.message, "a\xEF\xBF\xBD\xEF\xBF\xBD(b");
	link_msg_fini(&got);
}

Test(link_msg, copies_are_deep)
{
	struct link_msg m = good(texts[LINK_MSG_JOB]);
	struct link_job copy;
	link_job_copy(&copy, &m.u.job);
	link_msg_fini(&m);
	cr_expect_str_eq(copy.runtime_version, "10.0.1");
	cr_expect_str_eq(copy.message, "waits");
	link_job_fini(&copy);
	link_job_fini(&copy);
	link_job_fini(NULL);
	link_msg_fini(NULL);
}

Test(link_msg, a_type_that_does_not_exist_is_not_written)
{
	struct err e = ERR_INIT;
	cr_expect_null(link_msg_encode(&(struct link_msg){.type = LINK_MSG_UNKNOWN}, &e));
	cr_expect_eq(e.kind, ERR_INTERNAL);
	cr_expect_null(link_msg_encode(&(struct link_msg){.type = (enum link_msg_type)COUNT}, NULL));
}

Test(link_msg, phases_have_names)
{
	for (int i = JOB_QUEUED; i <= JOB_CANCELED; i++) {
		enum job_phase p = JOB_QUEUED;
		cr_expect_eq(job_phase_parse(job_phase_name((enum job_phase)i), &p), 0);
		cr_expect_eq((int)p, i);
		cr_expect_eq(job_phase_is_final(p), i == JOB_SUCCEEDED || i == JOB_FAILED || i == JOB_CANCELED);
	}
	enum job_phase p;
	cr_expect_eq(job_phase_parse("queued", &p), -1);
	cr_expect_str_eq(job_phase_name((enum job_phase)99), "Unknown");
	cr_expect_str_eq(job_phase_name((enum job_phase)-1), "Unknown");
}

Test(link_msg, which_profilers_an_agent_serves)
{
#define HELLO(more) "{\"type\":\"hello\",\"agentVersion\":\"1\",\"bootID\":\"b\",\"mode\":\"hostPID\"" more "}"
	static const struct {
		const char *text;
		unsigned profilers;
	} rows[] = {
		{HELLO(""), 1u << PROFILER_CPU_HOTPATHS}, /* from before there was the list */
		{HELLO(",\"profilers\":[]"), 0},
		{HELLO(",\"profilers\":[\"CPUHotpaths\",\"OfTheFuture\"]"), 1u << PROFILER_CPU_HOTPATHS},
		{HELLO(",\"profilers\":[\"OfTheFuture\"]"), 0},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct link_msg m = good(rows[i].text);
		cr_expect_eq(m.u.hello.profilers, rows[i].profilers, "row %zu: %x", i, m.u.hello.profilers);
		link_msg_fini(&m);
	}
	static const char *const bad[] = {HELLO(",\"profilers\":{}"), HELLO(",\"profilers\":[7]")};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct link_msg m;
		struct err e = ERR_INIT;
		cr_expect_eq(decode(bad[i], &m, &e), -1, "%s", bad[i]);
	}
	struct buf many;
	buf_init(&many, 65536);
	for (int count = LINK_MAX_PROFILERS; count <= LINK_MAX_PROFILERS + 1; count++) {
		buf_reset(&many);
		buf_puts(&many, "{\"type\":\"hello\",\"agentVersion\":\"1\",\"bootID\":\"b\",\"mode\":\"hostPID\",\"profilers\":[\"x\"");
		for (int i = 1; i < count; i++)
			buf_puts(&many, ",\"x\"");
		buf_puts(&many, "]}");
		struct link_msg m;
		struct err e = ERR_INIT;
		cr_expect_eq(decode(buf_str(&many), &m, &e), count > LINK_MAX_PROFILERS ? -1 : 0, "%d", count);
		link_msg_fini(&m);
	}
	buf_fini(&many);
}
