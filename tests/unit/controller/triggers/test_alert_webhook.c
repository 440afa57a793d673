#include "controller/triggers/alert_webhook.h"

#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "tests/unit/controller/triggers/make_source.h"

#include <stdio.h>
#include <unistd.h>

/* In place of the triggers: what was fired, and what is answered. */
static struct {
	struct profiling_trigger *triggers[4];
	size_t count;
	struct trigger_outcome answer;
	int fails; /* an err_kind, instead of an answer */
	bool ready;
	int fired;
	char last[512];
} world;

static struct profiling_trigger **of_source(void *triggers, enum trigger_source source, const char *namespace, size_t *count)
{
	(void)triggers;
	cr_expect_eq(source, TRIGGER_ALERTMANAGER);
	cr_expect_null(namespace);
	struct profiling_trigger **list = mem_calloc(world.count + 1, sizeof *list);
	for (size_t i = 0; i < world.count; i++)
		list[i] = trigger_ref(world.triggers[i]);
	*count = world.count;
	return list;
}

static int fire(void *triggers, const struct trigger_firing *f, int64_t timeout_ms, struct trigger_outcome *out, struct err *e)
{
	(void)triggers;
	cr_expect(timeout_ms > 0 && timeout_ms <= ALERT_WEBHOOK_PATIENCE_MS);
	world.fired++;
	snprintf(world.last, sizeof world.last, "%s/%s %s %s %s", f->namespace, f->trigger, f->dedup, f->pod_name ? f->pod_name : "-",
		 f->container ? f->container : "-");
	if (world.fails)
		return err_set(e, (enum err_kind)world.fails, 0, "it fails");
	*out = world.answer;
	return 0;
}

static bool ready(void *ctx)
{
	(void)ctx;
	return world.ready;
}

static struct alert_webhook *webhook;
static char token_file[64];

static void setup(void)
{
	world.ready = true;
	world.answer = (struct trigger_outcome){TRIGGER_FIRED, "Fired", "t-0123", ""};
	world.triggers[0] = make_source("shop", "cpu", "{'alertmanager':{'matchers':[{'name':'alertname','value':'HighCPU'}]}}");
	world.triggers[1] = make_source("shop", "any", "{'alertmanager':{'matchers':[{'name':'alertname','value':'(x*)*[wy]','matchType':'Regex'}]}}");
	world.triggers[2] = make_source("other", "cpu", "{'alertmanager':{'matchers':[{'name':'alertname','value':'HighCPU'}]}}");
	world.count = 3;
	snprintf(token_file, sizeof token_file, "/tmp/webhook-token-%d", getpid());
	webhook = alert_webhook_new(&(struct alert_webhook_options){.token_file = token_file, .of_source = of_source, .fire = fire, .ready = ready});
}

static void teardown(void)
{
	alert_webhook_free(webhook);
	unlink(token_file);
	for (size_t i = 0; i < 3; i++)
		trigger_unref(world.triggers[i]);
}

TestSuite(alert_webhook, .init = setup, .fini = teardown, .timeout = 20);

#define ALERT(status, labels) "{\"status\":\"" status "\",\"fingerprint\":\"f1\",\"startsAt\":\"t1\",\"labels\":{" labels "}}"
#define GOOD ALERT("firing", "\"alertname\":\"HighCPU\",\"namespace\":\"shop\",\"pod\":\"p-1\",\"container\":\"app\"")
#define NOTIFICATION(alerts) "{\"version\":\"4\",\"alerts\":[" alerts "]}"

static unsigned take(const char *text, json_t **answer, struct err *e)
{
	char *body = NULL;
	unsigned status = alert_webhook_take(webhook, text, strlen(text), &body, e);
	cr_expect_eq(body != NULL, status == 200);
	*answer = body ? json_loads(body, 0, NULL) : NULL;
	free(body);
	return status;
}

Test(alert_webhook, fires_what_matches_and_says_so)
{
	struct err e = ERR_INIT;
	AUTO_JSON json_t *answer = NULL;
	cr_assert_eq(take(NOTIFICATION(GOOD "," ALERT("resolved", "\"alertname\":\"HighCPU\",\"namespace\":\"shop\"") ",7,"
				       ALERT("firing", "\"alertname\":\"HighCPU\",\"namespace\":\"nowhere\"") "," ALERT("firing", "\"alertname\":\"HighCPU\"")),
			  &answer, &e), 200, "%s", e.message);
	cr_expect_eq(world.fired, 1);
	cr_expect_str_eq(world.last, "shop/cpu f1/t1 p-1 app");
	const json_t *alerts = json_object_get(answer, "alerts"), *first = json_array_get(alerts, 0);
	cr_assert_eq(json_array_size(alerts), 5);
	const json_t *result = json_array_get(json_object_get(first, "triggers"), 0);
	cr_expect_str_eq(jsonx_str_at(result, "trigger", ""), "cpu");
	cr_expect_str_eq(jsonx_str_at(result, "result", ""), "Fired");
	cr_expect_str_eq(jsonx_str_at(result, "session", ""), "t-0123");
	static const char *const messages[] = {"resolved", "expected an object", "no trigger of its namespace", "no label namespace"};
	for (size_t i = 1; i < 5; i++)
		cr_expect(strstr(jsonx_str_at(json_array_get(alerts, i), "message", ""), messages[i - 1]), "%zu: %s", i,
			  jsonx_str_at(json_array_get(alerts, i), "message", ""));
}

Test(alert_webhook, what_is_suppressed_or_refused_is_final)
{
	static const struct {
		enum trigger_verdict verdict;
		const char *result;
	} rows[] = {{TRIGGER_SUPPRESSED, "Suppressed"}, {TRIGGER_REFUSED, "Refused"}};
	for (size_t i = 0; i < 2; i++) {
		struct err e = ERR_INIT;
		AUTO_JSON json_t *answer = NULL;
		world.answer.verdict = rows[i].verdict;
		cr_assert_eq(take(NOTIFICATION(GOOD), &answer, &e), 200);
		const json_t *result = json_array_get(json_object_get(json_array_get(json_object_get(answer, "alerts"), 0), "triggers"), 0);
		cr_expect_str_eq(jsonx_str_at(result, "result", ""), rows[i].result);
	}
	struct err e = ERR_INIT;
	AUTO_JSON json_t *answer = NULL;
	world.fails = ERR_NOT_FOUND;
	cr_expect_eq(take(NOTIFICATION(GOOD), &answer, &e), 200, "the trigger was deleted a moment ago");
}

Test(alert_webhook, what_is_not_sure_comes_again)
{
	struct err e = ERR_INIT;
	json_t *answer = NULL;
	world.answer.verdict = TRIGGER_TRY_AGAIN;
	cr_expect_eq(take(NOTIFICATION(GOOD "," GOOD), &answer, &e), 503);
	cr_expect_eq(world.fired, 1, "the rest comes with the repetition");
	cr_expect_eq(e.kind, ERR_RETRY);
	e = (struct err)ERR_INIT;
	world.fails = ERR_RETRY;
	cr_expect_eq(take(NOTIFICATION(GOOD), &answer, &e), 503);
	cr_expect(strstr(e.message, "it fails"), "%s", e.message);
	e = (struct err)ERR_INIT;
	world.ready = false;
	cr_expect_eq(take(NOTIFICATION(GOOD), &answer, &e), 503);
	cr_expect_eq(world.fired, 2);
}

Test(alert_webhook, a_flood_in_one_notification_is_taken_in_parts)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 1 << 20);
	buf_puts(&text, "{\"version\":\"4\",\"alerts\":[");
	for (int i = 0; i <= ALERT_WEBHOOK_MAX_FIRINGS; i++)
		buf_printf(&text, "%s%s", i ? "," : "", GOOD);
	buf_puts(&text, "]}");
	struct err e = ERR_INIT;
	json_t *answer = NULL;
	cr_expect_eq(take(buf_str(&text), &answer, &e), 503);
	cr_expect_eq(world.fired, ALERT_WEBHOOK_MAX_FIRINGS);
}

Test(alert_webhook, nonsense_is_refused_and_odd_names_too)
{
	struct err e = ERR_INIT;
	AUTO_JSON json_t *answer = NULL;
	cr_expect_eq(take("{\"alerts\":1}", &answer, &e), 400);
	cr_expect_eq(take(NOTIFICATION(ALERT("firing", "\"alertname\":\"HighCPU\",\"namespace\":\"shop\",\"pod\":\"a/b\"")), &answer, &e), 200);
	const json_t *result = json_array_get(json_object_get(json_array_get(json_object_get(answer, "alerts"), 0), "triggers"), 0);
	cr_expect_str_eq(jsonx_str_at(result, "reason", ""), "InvalidLabel");
	cr_expect_eq(world.fired, 0);
	json_decref(answer);
	answer = NULL;
	cr_expect_eq(take(NOTIFICATION(ALERT("firing", "\"namespace\":\"shop\",\"alertname\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxz\"")),
			  &answer, &e), 200);
	result = json_array_get(json_object_get(json_array_get(json_object_get(answer, "alerts"), 0), "triggers"), 0);
	cr_expect_str_eq(jsonx_str_at(result, "reason", ""), "InvalidMatcher");
}

static int check(const char *in_file, const char *token, struct err *e)
{
	*e = (struct err)ERR_INIT;
	if (in_file)
		cr_assert_eq(fsio_write_atomic(token_file, in_file, strlen(in_file), 0600, e), 0);
	return alert_webhook_check(webhook, token, e);
}

Test(alert_webhook, the_token_is_the_files)
{
	struct err e = ERR_INIT;
	cr_expect_eq(check(NULL, "0123456789abcdef", &e), -1);
	cr_expect_eq(e.kind, ERR_RETRY, "no file");
	cr_expect_eq(check("", "0123456789abcdef", &e), -1);
	cr_expect(e.kind == ERR_RETRY && strstr(e.message, "is empty"), "%s", e.message);
	cr_expect_eq(check("0123456789abcde\n", "0123456789abcde", &e), -1);
	cr_expect(e.kind == ERR_RETRY && strstr(e.message, "too short"), "%s", e.message);
	cr_expect_eq(check("0123456789abcdef\n", "0123456789abcdef", &e), 0);
	cr_expect_eq(check(NULL, NULL, &e), -1);
	cr_expect_eq(e.kind, ERR_DENIED);
	static const char *const wrong[] = {"", "0123456789abcde", "0123456789abcdeg", "0123456789abcdef0", "0123456789abcdef\n"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cr_expect_eq(check(NULL, wrong[i], &e), -1, "%s", wrong[i]);
		cr_expect_eq(e.kind, ERR_DENIED);
	}
	cr_expect_eq(check("another-good-token", "0123456789abcdef", &e), -1, "read again");
	cr_expect_eq(check(NULL, "another-good-token", &e), 0);
	struct alert_webhook *off = alert_webhook_new(&(struct alert_webhook_options){0});
	cr_expect_eq(alert_webhook_check(off, "0123456789abcdef", &e), -1);
	alert_webhook_free(off);
}
