#include "agent/serve/serve.h"
#include "agent/serve/serve_document.h"
#include "agent/serve/serve_token.h"
#include "common/api/reason.h"
#include "common/rest/rest_sessions.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Test(serve, keeps_sessions_where_state_belongs)
{
	static const struct {
		const char *state, *home, *dir;
	} rows[] = {
		{"/s", "/h", "/s/drdotnet/reports"}, {NULL, "/h", "/h/.local/state/drdotnet/reports"}, {"", "/h", "/h/.local/state/drdotnet/reports"},
		{"relative", "/h", "/h/.local/state/drdotnet/reports"}, {NULL, NULL, NULL}, {NULL, "h", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *dir = serve_default_dir(rows[i].state, rows[i].home);
		cr_expect(rows[i].dir ? dir && strcmp(dir, rows[i].dir) == 0 : !dir, "%zu: %s", i, dir ? dir : "NULL");
		free(dir);
	}
}

Test(serve, answers_for_hosts_that_nobody_else_can_point_here)
{
	static const char *const good[] = {"127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:8080", "localhost", "LocalHost:1", "machine", "machine:1",
					   "10.0.0.7:1"};
	static const char *const bad[] = {"", ":80", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::1", "::1", "[::1]x", "[localhost]",
					  "localhost:x", "localhost:80x", "localhost:80:80", "machine.evil", "127.0.0.1 ", "256.0.0.1", "[127.0.0.1]"};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		cr_expect(serve_host_allowed(good[i], "machine"), "%s", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_not(serve_host_allowed(bad[i], "machine"), "%s", bad[i]);
	cr_expect_not(serve_host_allowed("", ""));
}

static char *token_of(const char *path, const char *text, struct err *e)
{
	FILE *f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
	*e = (struct err)ERR_INIT;
	return serve_token_get(path, e);
}

Test(serve, tokens)
{
	char dir[] = "/tmp/drdotnet-token-XXXXXX", path[64];
	struct err e = ERR_INIT;
	struct stat st;
	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/token", dir);
	char *made = serve_token_get(path, &e), *again = serve_token_get(path, &e), *other = serve_token_get(NULL, &e);
	cr_assert(made && again && other, "%s", e.message);
	cr_expect_eq(strlen(made), 48);
	cr_expect_str_eq(made, again);
	cr_expect_str_neq(made, other);
	cr_expect(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
	cr_expect(serve_token_equal(made, again) && !serve_token_equal(made, other) && !serve_token_equal(made, "") && !serve_token_equal("", made));
	free(made);
	free(again);
	free(other);
	static const char *const bad[] = {"", "short", "0123456789abcde", "0123456789abcdef two", "0123456789abcd\xc3\xa4\xc3\xa4"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cr_expect_null(token_of(path, bad[i], &e), "\"%s\"", bad[i]);
		cr_expect_eq(e.kind, ERR_INVALID);
	}
	char *good = token_of(path, "0123456789abcdef\n", &e);
	cr_expect(good && strcmp(good, "0123456789abcdef") == 0);
	free(good);
	unlink(path);
	rmdir(dir);
}

Test(serve, process_names_may_stand_in_paths)
{
	static const struct {
		const char *entrypoint, *name;
	} rows[] = {{"Checkout", "checkout-7"}, {"My.App_1", "my-app-1-7"}, {NULL, "process-7"}, {"", "process-7"}, {"..", "process-7"}, {"-a-", "a-7"},
		    {"\xc3\xa4", "process-7"}, {"0123456789012345678901234567890123456789012345", "0123456789012345678901234567890123456789-7"}};
	char name[64];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		serve_document_pod_name(rows[i].entrypoint, 7, name);
		cr_expect_str_eq(name, rows[i].name);
	}
}

static json_t *make(enum job_phase phase, const char *reason)
{
	static const struct session_cost cost = {.samples = 5};
	struct session_spec spec;
	session_spec_init(&spec, PROFILER_CPU_HOTPATHS);
	AUTO_JSON json_t *asked = json_pack("{s:s}", "profiler", "CPUHotpaths");
	struct link_report report = {.name = "report.html", .media_type = "text/html", .size_bytes = 3};
	memset(report.sha256, 'a', 64);
	bool over = job_phase_is_final(phase);
	struct serve_facts f = {.name = "x", .uid = "u", .spec = asked, .effective = &spec, .created_wall_ms = 1000, .started_wall_ms = 2000,
				.completed_wall_ms = over ? 3000 : 0, .phase = phase, .reason = reason, .message = "said", .headline = over ? "line" : NULL,
				.cost = over ? &cost : NULL, .reports = &report, .report_count = over, .pod_name = "app-7", .entrypoint = "App", .pid = 7};
	json_t *doc = serve_document_make(&f);
	session_spec_fini(&spec);
	return doc;
}

Test(serve, documents_look_as_a_controller_s)
{
	static const struct {
		enum job_phase phase;
		const char *reason, *state, *running, *succeeded, *completed;
	} rows[] = {
		{JOB_QUEUED, NULL, "Queued", "False", "Unknown", "False"}, {JOB_PROFILING, NULL, "Profiling", "True", "Unknown", "False"},
		{JOB_SUCCEEDED, REASON_Completed, "Succeeded", "False", "True", "True"}, {JOB_CANCELED, REASON_Canceled, "Canceled", "False", "False", "True"},
		{JOB_FAILED, REASON_ProcessExited, "Failed", "False", "False", "True"}, {JOB_FAILED, NULL, "Failed", "False", "False", "True"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_JSON json_t *doc = make(rows[i].phase, rows[i].reason);
		const json_t *list = jsonx_at(doc, "status.conditions");
		cr_expect_str_eq(jsonx_str_at(doc, "state", ""), rows[i].state);
		cr_expect_str_eq(jsonx_str_at(json_array_get(list, 1), "status", ""), rows[i].running);
		cr_expect_str_eq(jsonx_str_at(json_array_get(list, 2), "status", ""), rows[i].succeeded);
		cr_expect_str_eq(jsonx_str_at(json_array_get(list, 3), "status", ""), rows[i].completed);
		cr_expect_eq(rest_session_completed(doc), strcmp(rows[i].completed, "True") == 0);
		cr_expect(serve_document_is_good(doc, "x") && !serve_document_is_good(doc, "y"));
		AUTO_JSON json_t *summary = serve_document_summary(doc);
		cr_expect(!json_object_get(summary, "spec") && !json_object_get(summary, "status") && json_object_get(summary, "id"));
	}
	AUTO_JSON json_t *cut = make(JOB_PROFILING, NULL);
	serve_document_interrupt(cut, 9000);
	cr_expect(rest_session_completed(cut) && strcmp(jsonx_str_at(cut, "completedAt", ""), "1970-01-01T00:00:09Z") == 0);
	cr_expect_str_eq(jsonx_str_at(json_array_get(jsonx_at(cut, "status.targets"), 0), "phase", ""), "Failed");
	cr_expect_not(serve_document_is_good(NULL, "x"));
}
