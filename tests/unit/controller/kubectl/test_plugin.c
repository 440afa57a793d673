#include "controller/kubectl/plugin_manifest.h"
#include "controller/kubectl/plugin_print.h"
#include "controller/kubectl/plugin_progress.h"
#include "controller/kubectl/plugin_ps.h"
#include "controller/kubectl/plugin_reports.h"
#include "controller/kubectl/plugin_rest.h"
#include "common/base/yaml_json.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 16
#define NOW_MS 1767225600000 /* 2026-01-01T00:00:00Z */

static json_t *json(const char *text)
{
	json_error_t why;
	json_t *doc = json_loads(text, 0, &why);
	cr_assert_not_null(doc, "%s at %d", why.text, why.position);
	return doc;
}

static char *dump(const json_t *value)
{
	return json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
}

/* options ---------------------------------------------------------------------------------------------------------- */

static int parse(const char *const *words, struct plugin_args *out, struct err *e)
{
	static char program[] = "kubectl-drdotnet";
	char *argv[WORDS + 1] = {program};
	int argc = 1;
	for (; argc < WORDS && words[argc - 1]; argc++)
		memcpy(&argv[argc], &words[argc - 1], sizeof *argv);
	return plugin_options_parse(argc, argv, out, e);
}

Test(plugin_options, takes_what_people_write)
{
	struct plugin_args a;
	const char *words[] = {"profile", "deploy/checkout", "--cpu", "30s", "-n", "shop", "--max-pods=3", "-c", "app", "--json", "--pid", "7", NULL};
	cr_assert_eq(parse(words, &a, NULL), 0);
	cr_expect_eq(a.command, PLUGIN_PROFILE);
	cr_expect_str_eq(a.words.at[0], "deploy/checkout");
	cr_expect(a.session.duration_seconds == 30 && a.max_pods == 3 && a.pid == 7 && a.json && a.session.profiler == PROFILER_CPU_HOTPATHS);
	cr_expect_str_eq(a.namespace, "shop");
	cr_expect_str_eq(a.container, "app");
	const char *labels[] = {"profile", "-l", "app=x", "2m", "--dry-run=client", "-o", "yaml", NULL};
	cr_assert_eq(parse(labels, &a, NULL), 0);
	cr_expect(a.session.duration_seconds == 120 && a.dry_run && !a.json);
	const char *report[] = {"report", "s", "-o", "d", "--open", NULL};
	cr_assert_eq(parse(report, &a, NULL), 0);
	cr_expect(a.open);
	cr_expect_str_eq(a.output, "d");
	const char *help[] = {"diff", "--help", NULL};
	cr_assert_eq(parse(help, &a, NULL), 0, "help needs nothing else");
	cr_expect_eq(a.command, PLUGIN_HELP);
	cr_expect_str_eq(a.about->name, "diff");
	const char *none[] = {NULL};
	cr_assert_eq(parse(none, &a, NULL), 0);
	cr_expect(a.command == PLUGIN_HELP && !a.about);
	const char *yaml[] = {"profile", "x", "-o", "YAML", NULL};
	cr_assert_eq(parse(yaml, &a, NULL), 0);
	cr_expect(a.format == PLUGIN_YAML && !a.json);
	const char *as_json[] = {"profile", "x", "-o", "json", NULL};
	cr_assert_eq(parse(as_json, &a, NULL), 0);
	cr_expect(a.json);
}

Test(plugin_options, refuses_with_the_word_that_is_wrong)
{
	static const struct {
		const char *words[WORDS], *message;
	} rows[] = {
		{{"walk"}, "unknown command: walk"},
		{{"profil"}, "unknown command: profil; did you mean profile?"},
		{{"profile"}, "say what to profile"},
		{{"profile", "-l", "a=b", "pod/x", "30s"}, "give TARGET or -l LABELS, not both: pod/x"},
		{{"profile", "x", "30x"}, "the duration: expected a time of 1s to 1h, such as 30s, found \"30x\""},
		{{"profile", "x", "30s", "--duration", "30s"}, "the duration is given twice"},
		{{"profile", "x", "--duration", "2h"}, "--duration: expected a time"},
		{{"profile", "x", "30s", "more"}, "unexpected word: more"},
		{{"profile", "x", "--pid", "0"}, "--pid: expected a number from 1 to"},
		{{"profile", "x", "--max-pods", "21"}, "--max-pods: expected a number from 1 to 20"},
		{{"profile", "x", "--frequency", "1k"}, "--frequency: expected a number"},
		{{"profile", "x", "--pid", "1", "--entrypoint", "y"}, "by --pid or by --entrypoint"},
		{{"profile", "x", "--profiler", "Heap"}, "--profiler: expected CPUHotpaths, GCSurvivors,"},
		{{"profile", "x", "--memory", "30s"}, "GCSurvivors inspects the heap once and has no duration"},
		{{"profile", "x", "--strings", "--duration", "3s"}, "DuplicatedStrings inspects the heap once"},
		{{"profile", "x", "--walks", "3"}, "--walks: CPUHotpaths does not have this setting"},
		{{"profile", "x", "--leak", "--walks", "11"}, "--walks: expected a number from 2 to 10"},
		{{"profile", "x", "--leak", "--frequency", "9"}, "--frequency: MemoryLeak does not have this setting"},
		{{"profile", "x", "--allocations", "--roots", "Exact"}, "--roots: Allocations does not have this setting"},
		{{"profile", "x", "--memory", "--roots", "exct"}, "--roots: expected Auto, Exact or NoCollection, found \"exct\"; did you mean Exact?"},
		{{"profile", "x", "--pauses", "--pause-budget", "0"}, "--pause-budget: expected a number from 1 to 60000"},
		{{"profile", "x", "--baseline", ""}, "--baseline: must not be empty"},
		{{"profile", "x", "-o", "xml"}, "-o: expected yaml or json"},
		{{"profile", "x", "--dry-run=server"}, "--dry-run: only client"},
		{{"profile", "x", "--name", ""}, "--name: must not be empty"},
		{{"profile", ""}, "a word is empty"},
		{{"ls", "--pid", "1"}, "unknown option: --pid"},
		{{"ls", "--watch=1"}, "takes no value: --watch=1"},
		{{"ls", "-n"}, "needs a value: -n"},
		{{"ls", "-A", "-n", "x"}, "give -n or -A"},
		{{"ls", "x"}, "unexpected word: x"},
		{{"report"}, "a word is missing: kubectl drdotnet report SESSION"},
		{{"diff", "a"}, "a word is missing: kubectl drdotnet diff BEFORE AFTER"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct plugin_args a;
		struct err e = ERR_INIT;
		cr_assert_eq(parse(rows[i].words, &a, &e), -1, "row %zu", i);
		cr_expect_eq(e.kind, ERR_INVALID);
		cr_expect(strstr(e.message, rows[i].message), "row %zu: %s", i, e.message);
	}
}

/* targets ---------------------------------------------------------------------------------------------------------- */

Test(plugin_target, knows_workloads_and_pods)
{
	static const struct {
		const char *text, *plural, *name; /* plural NULL: a pod; name NULL: refused, and why */
		const char *message;
	} rows[] = {
		{"deploy/a", "deployments", "a", NULL}, {"deployment.apps/a-b.c", "deployments", "a-b.c", NULL}, {"sts/a", "statefulsets", "a", NULL},
		{"ds/a", "daemonsets", "a", NULL}, {"rs/a", "replicasets", "a", NULL}, {"job/a", "jobs", "a", NULL}, {"svc/a", "services", "a", NULL},
		{"pod/a-1", NULL, "a-1", NULL}, {"po/a", NULL, "a", NULL}, {"a-1", NULL, "a-1", NULL}, {"0", NULL, "0", NULL},
		{"node/a", NULL, NULL, "node/a: unknown type; known are deploy, sts"}, {"deployx/a", NULL, NULL, "unknown type"},
		{"/a", NULL, NULL, "unknown type"}, {"deploy/", NULL, NULL, "no name of an object"}, {"deploy/a/b", NULL, NULL, "no name of an object"},
		{"A", NULL, NULL, "no name of an object"}, {"-a", NULL, NULL, "no name"}, {"a.", NULL, NULL, "no name"}, {"..", NULL, NULL, "no name"},
		{"a b", NULL, NULL, "no name"}, {"", NULL, NULL, "no name"}, {"a%2f", NULL, NULL, "no name"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct plugin_target t;
		struct err e = ERR_INIT;
		int rc = plugin_target_parse(rows[i].text, NULL, &t, &e);
		cr_expect_eq(rc == 0, rows[i].name != NULL, "%s", rows[i].text);
		if (rc < 0) {
			cr_expect(strstr(e.message, rows[i].message), "%s", e.message);
			continue;
		}
		cr_expect_eq(t.kind, rows[i].plural ? PLUGIN_TARGET_WORKLOAD : PLUGIN_TARGET_POD);
		cr_expect(rows[i].plural ? strcmp(t.plural, rows[i].plural) == 0 : t.plural == NULL, "%s", rows[i].text);
		cr_expect_str_eq(t.name, rows[i].name);
		plugin_target_fini(&t);
	}
	char longest[260];
	for (size_t len = 252; len <= 254; len++) {
		memset(longest, 'a', len);
		longest[len] = '\0';
		cr_expect_eq(plugin_target_is_name(longest), len <= 253, "%zu", len);
	}
}

Test(plugin_target, reads_labels_as_kubectl_does)
{
	static const struct {
		const char *text, *json; /* NULL: refused */
	} rows[] = {
		{"app=a", "{\"matchLabels\":{\"app\":\"a\"}}"},
		{"app==a, tier = b", "{\"matchLabels\":{\"app\":\"a\",\"tier\":\"b\"}}"},
		{"a in (x, y)", "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"x\",\"y\"]}]}"},
		{"a notin (x)", "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[\"x\"]}]}"},
		{"a!=x", "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[\"x\"]}]}"},
		{"!a,b", "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"DoesNotExist\"},{\"key\":\"b\",\"operator\":\"Exists\"}]}"},
		{"a=x,a=y", "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"y\"]}],\"matchLabels\":{\"a\":\"x\"}}"},
		{"example.com/a=x", "{\"matchLabels\":{\"example.com/a\":\"x\"}}"},
		{"a=", "{\"matchLabels\":{\"a\":\"\"}}"},
		{"", NULL}, {",", NULL}, {"a=b,", NULL}, {"=b", NULL}, {"a in", NULL}, {"a in (", NULL}, {"a in (x", NULL}, {"a in (x,)y", NULL},
		{"a in x)", NULL}, {"a > 1", NULL}, {"a b", NULL}, {"a=b c", NULL}, {"!", NULL}, {"a=b=c", NULL}, {"a=-", NULL}, {"/a=b", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct err e = ERR_INIT;
		AUTO_JSON json_t *selector = plugin_target_labels(rows[i].text, &e);
		cr_expect_eq(selector != NULL, rows[i].json != NULL, "\"%s\": %s", rows[i].text, e.message);
		char *text = selector ? dump(selector) : NULL;
		if (text && rows[i].json)
			cr_expect_str_eq(text, rows[i].json);
		else
			cr_expect(e.kind == ERR_INVALID || selector, "%s", e.message);
		free(text);
	}
}

Test(plugin_target, takes_the_selector_of_a_workload)
{
	static const struct {
		const char *object, *json;
	} rows[] = {
		{"{\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}}", "{\"matchLabels\":{\"a\":\"b\"}}"},
		{"{\"kind\":\"Service\",\"spec\":{\"selector\":{\"a\":\"b\"}}}", "{\"matchLabels\":{\"a\":\"b\"}}"},
		{"{\"kind\":\"Service\",\"spec\":{}}", NULL}, {"{\"spec\":{\"selector\":{}}}", NULL}, {"{\"spec\":{\"selector\":7}}", NULL},
		{"{\"spec\":{\"selector\":{\"a\":\"b\"}}}", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct err e = ERR_INIT;
		AUTO_JSON json_t *object = json(rows[i].object);
		AUTO_JSON json_t *selector = plugin_target_selector_of(object, "service x", &e);
		char *text = selector ? dump(selector) : NULL;
		if (rows[i].json)
			cr_expect_str_eq(text, rows[i].json);
		else
			cr_expect(!text && strncmp(e.message, "service x", 9) == 0, "row %zu: %s", i, e.message);
		free(text);
	}
}

/* manifests -------------------------------------------------------------------------------------------------------- */

static json_t *manifest(const char *const *words, struct err *e)
{
	struct plugin_args a;
	struct plugin_target t;
	cr_assert_eq(parse(words, &a, e), 0, "%s", e->message);
	cr_assert_eq(plugin_target_parse(a.words.at[0], a.selector, &t, e), 0, "%s", e->message);
	AUTO_JSON json_t *selector = t.selector ? json_incref(t.selector) : json("{\"matchLabels\":{\"app\":\"a\"}}");
	json_t *made = plugin_manifest_make(&a, &t, selector, "shop", "abcde", e);
	plugin_target_fini(&t);
	return made;
}

Test(plugin_manifest, holds_what_was_asked_for)
{
	static const struct {
		const char *words[WORDS], *name, *spec;
	} rows[] = {
		{{"profile", "a-1"}, "a-1-cpu-abcde", "{\"profiler\":\"CPUHotpaths\",\"target\":{\"podName\":\"a-1\"}}"},
		{{"profile", "deploy/a", "20s", "--max-pods", "2"}, "a-cpu-abcde",
		 "{\"durationSeconds\":20,\"profiler\":\"CPUHotpaths\",\"target\":{\"maxPods\":2,\"selector\":{\"matchLabels\":{\"app\":\"a\"}}}}"},
		{{"profile", "-l", "x=y", "--name", "n", "--frequency", "499", "--store", "s"}, "n",
		 "{\"cpuHotpaths\":{\"frequencyHertz\":499},\"output\":{\"store\":\"s\"},\"profiler\":\"CPUHotpaths\","
		 "\"target\":{\"selector\":{\"matchLabels\":{\"x\":\"y\"}}}}"},
		{{"profile", "a", "1h", "-c", "app", "--entrypoint", "E"}, "a-cpu-abcde",
		 "{\"activeDeadlineSeconds\":3900,\"durationSeconds\":3600,\"profiler\":\"CPUHotpaths\","
		 "\"target\":{\"container\":\"app\",\"podName\":\"a\",\"process\":{\"entrypoint\":\"E\"}}}"},
		{{"profile", "a", "--memory", "--roots", "Exact", "--reveal"}, "a-memory-abcde",
		 "{\"gcSurvivors\":{\"roots\":\"Exact\"},\"profiler\":\"GCSurvivors\",\"reveal\":true,\"target\":{\"podName\":\"a\"}}"},
		{{"profile", "a", "--leak", "5m", "--walks", "3", "--pause-budget", "900", "--baseline", "b"}, "a-leak-abcde",
		 "{\"baselineSession\":\"b\",\"durationSeconds\":300,\"memoryLeak\":{\"walks\":3},\"pauseBudgetMilliseconds\":900,"
		 "\"profiler\":\"MemoryLeak\",\"target\":{\"podName\":\"a\"}}"},
		{{"profile", "a", "--strings"}, "a-strings-abcde", "{\"profiler\":\"DuplicatedStrings\",\"target\":{\"podName\":\"a\"}}"},
		{{"profile", "a", "--allocations", "9s"}, "a-allocations-abcde",
		 "{\"durationSeconds\":9,\"profiler\":\"Allocations\",\"target\":{\"podName\":\"a\"}}"},
		{{"profile", "a", "--profiler", "RuntimePauses"}, "a-pauses-abcde",
		 "{\"profiler\":\"RuntimePauses\",\"target\":{\"podName\":\"a\"}}"},
		{{"profile", "a234567890123456789012345678901234567890-2-x"}, "a234567890123456789012345678901234567890-cpu-abcde", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct err e = ERR_INIT;
		AUTO_JSON json_t *made = manifest(rows[i].words, &e);
		cr_assert_not_null(made, "row %zu: %s", i, e.message);
		cr_expect_str_eq(jsonx_str_at(made, "metadata.name", ""), rows[i].name);
		cr_expect_str_eq(jsonx_str_at(made, "metadata.namespace", ""), "shop");
		char *spec = dump(jsonx_at(made, "spec"));
		if (rows[i].spec)
			cr_expect_str_eq(spec, rows[i].spec);
		free(spec);
	}
	struct err e = ERR_INIT;
	const char *wrong[] = {"profile", "a", "--name", "Not_A_Name", NULL};
	cr_expect_null(manifest(wrong, &e));
	cr_expect(strstr(e.message, "--name: \"Not_A_Name\" is no name"), "%s", e.message);
}

Test(plugin_manifest, yaml_is_read_to_the_same)
{
	static const char *const rows[] = {
		"{\"a\":{\"b\":[{\"c\":1,\"d\":[\"x\",\"y\"]},[\"z\",[]]],\"e\":{}},"
		"\"f\":\"true\",\"g\":\"a: b\",\"h\":\"\",\"i\":\"7\",\"j\":null,\"k\":true}",
		"{\"n\":\"no\",\"~\":\"- x\",\"multi\":\"a\\nb\",\"quote\":\"it's \\\"so\\\"\",\"slash/key.x\":\"v-1\",\"ü\":\"ü\"}",
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct err e = ERR_INIT;
		AUTO_JSON json_t *value = json(rows[i]);
		AUTO_BUF struct buf yaml;
		buf_init(&yaml, 65536);
		plugin_manifest_yaml(value, &yaml);
		AUTO_JSON json_t *again = jsonx_parse_yaml(buf_str(&yaml), yaml.len, "yaml", &e);
		cr_assert_not_null(again, "%s\n%s", e.message, buf_str(&yaml));
		cr_expect(json_equal(value, again), "%s", buf_str(&yaml));
	}
}

/* words ------------------------------------------------------------------------------------------------------------ */

#define CONDITIONS(status, reason, message)                                                                                             \
	"\"conditions\":[{\"type\":\"Succeeded\",\"status\":\"" status "\",\"reason\":\"" reason "\",\"message\":\"" message "\"},"       \
	"{\"type\":\"Completed\",\"status\":\"False\"}]"

Test(plugin_progress, says_what_a_session_does)
{
	static const struct {
		const char *session, *line;
	} rows[] = {
		{"{\"metadata\":{\"name\":\"s\"}}", "s: Created"},
		{"{\"metadata\":{\"name\":\"s\"},\"status\":{" CONDITIONS("Unknown", "Queued", "place 2 in the queue of node n") "}}",
		 "s: Queued, place 2 in the queue of node n"},
		{"{\"metadata\":{\"name\":\"s\"},\"spec\":{\"durationSeconds\":20},\"status\":{" CONDITIONS("Unknown", "Profiling", "x")
		 ",\"targets\":[{\"phase\":\"Profiling\",\"firstSampleTime\":\"2025-12-31T23:59:52.500Z\"}]}}", "s: Profiling, 13 s left"},
		{"{\"metadata\":{\"name\":\"s\"},\"spec\":{\"durationSeconds\":20},\"status\":{" CONDITIONS("Unknown", "Profiling", "x")
		 ",\"targets\":[{\"phase\":\"Profiling\",\"firstSampleTime\":\"2026-01-01T01:00:00Z\",\"message\":\"120 requests/s\"}]}}",
		 "s: Profiling, 20 s left: 120 requests/s"},
		{"{\"metadata\":{\"name\":\"s\"},\"status\":{" CONDITIONS("Unknown", "Profiling", "x") ",\"effective\":{\"durationSeconds\":9}"
		 ",\"targets\":[{\"phase\":\"Profiling\",\"firstSampleTime\":\"2020-01-01T01:00:00Z\"}]}}", "s: Profiling, 0 s left"},
		{"{\"metadata\":{\"name\":\"s\"},\"status\":{" CONDITIONS("Unknown", "Profiling", "x") ",\"effective\":{}"
		 ",\"targets\":[{\"phase\":\"Profiling\",\"firstSampleTime\":\"2020-01-01T01:00:00Z\"}]}}", "s: Profiling"},
		{"{\"metadata\":{\"name\":\"s\"},\"status\":{" CONDITIONS("Unknown", "Analyzing", "x") "}}", "s: Analyzing"},
		{"{\"metadata\":{\"name\":\"a\\u001b[31m\"},\"status\":7}", "a\\x1b[31m: Created"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_JSON json_t *session = json(rows[i].session);
		AUTO_BUF struct buf line;
		buf_init(&line, 4096);
		cr_expect_eq(plugin_progress_line(session, NOW_MS, &line), 0);
		cr_expect_str_eq(buf_str(&line), rows[i].line);
	}
}

Test(plugin_progress, shows_the_diagnosis_and_where_reports_are)
{
	AUTO_JSON json_t *session = json("{\"spec\":{\"baselineSession\":\"b\"},"
					 "\"status\":{\"diagnosis\":\"80%\\nof \\u001b CPU\",\"comparison\":\"It\\ngrew.\",\"targets\":["
					 "{\"podName\":\"a\",\"nodeName\":\"n\",\"phase\":\"Succeeded\",\"reports\":["
					 "{\"name\":\"x.md\",\"url\":\"http://h/p/x.md\"},{\"name\":\"y\",\"url\":\"http://h/p/y\"}]},"
					 "{\"podName\":\"b\",\"nodeName\":\"n\",\"phase\":\"Failed\",\"reason\":\"NativeAOT\",\"message\":\"no\"},"
					 "{\"podName\":\"c\",\"nodeName\":\"n\",\"phase\":\"Succeeded\",\"reason\":\"Completed\","
					 "\"message\":\"Container c ended: exit code 3\",\"reports\":[{\"name\":\"z\"}]}]}}");
	AUTO_BUF struct buf text;
	buf_init(&text, 65536);
	cr_assert_eq(plugin_progress_result(session, &(struct term_page){0}, &text), 0);
	cr_expect_str_eq(buf_str(&text), "80%\nof \\x1b CPU\n\ncompared with b:\nIt\ngrew.\n\npod a on n: Succeeded\n  reports in http://h/p/\n    x.md y\n\n"
					 "pod b on n: Failed, NativeAOT: no\n\npod c on n: Succeeded: Container c ended: exit code 3\n  reports: z\n");
}

Test(plugin_progress, sets_the_diagnosis_for_a_terminal)
{
	AUTO_JSON json_t *session = json("{\"status\":{\"diagnosis\":\"80%\\nof the CPU time is spent in one method that \\u001b others call\",\"targets\":["
					 "{\"podName\":\"b\",\"nodeName\":\"n\",\"phase\":\"Failed\",\"reason\":\"NativeAOT\","
					 "\"message\":\"it has no runtime to ask\"}]}}");
	AUTO_BUF struct buf text;
	buf_init(&text, 65536);
	cr_assert_eq(plugin_progress_result(session, &(struct term_page){.width = 40, .colour = true}, &text), 0);
	cr_expect_str_eq(buf_str(&text), "\033[1m80%\033[0m\nof the CPU time is spent in one method\n  that \\x1b others call\n\n"
					 "pod b on n: Failed, NativeAOT: it has no\n  runtime to ask\n");
}

Test(plugin_print, pads_tables_as_kubectl_does)
{
	AUTO_JSON json_t *table = json("{\"columnDefinitions\":[{\"name\":\"Name\"},{\"name\":\"Why\",\"priority\":1},{\"name\":\"Age\"}],\"rows\":["
				       "{\"cells\":[\"ä\\n\",\"x\",5],\"object\":{\"metadata\":{\"namespace\":\"shop\"}}},"
				       "{\"cells\":[\"longer-name\",null]}]}");
	static const struct {
		bool wide, namespaces, heads;
		const char *text;
	} rows[] = {
		{false, false, true, "NAME          AGE\nä\\x0a         5\nlonger-name   \n"},
		{true, true, false, "shop   ä\\x0a         x   5\n       longer-name       \n"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_BUF struct buf text;
		buf_init(&text, 4096);
		plugin_print_api_table(table, rows[i].wide, rows[i].namespaces, rows[i].heads, NULL, &text);
		cr_expect_str_eq(buf_str(&text), rows[i].text);
	}
	size_t widths[PLUGIN_COLUMNS] = {20};
	AUTO_BUF struct buf text;
	buf_init(&text, 4096);
	plugin_print_api_table(table, false, false, true, widths, &text);
	cr_expect(strncmp(buf_str(&text), "NAME                   AGE\n", 27) == 0, "%s", buf_str(&text));
}

Test(plugin_ps, says_what_can_be_profiled)
{
	AUTO_JSON json_t *answer = json("{\"items\":[{\"namespace\":\"shop\",\"pod\":\"a-1\",\"container\":\"app\",\"pid\":1,\"entrypoint\":\"A\","
					"\"runtimeVersion\":\"10.0\",\"cpuMillicores\":70,\"memoryBytes\":73400320,\"canProfile\":true},"
					"{\"pod\":\"b\",\"canProfile\":false,\"reason\":\"NativeAOT\"}]}");
	AUTO_BUF struct buf text;
	buf_init(&text, 4096);
	plugin_ps_print(answer, false, &text);
	cr_expect_str_eq(buf_str(&text), "POD   CONTAINER   PID   ENTRYPOINT   RUNTIME   CPU   MEMORY   PROFILE\n"
					 "a-1   app         1     A            10.0      70m   70Mi     yes\n"
					 "b                 0                                           NativeAOT\n");
}

/* the way to the controller ---------------------------------------------------------------------------------------- */

Test(plugin_rest, tokens_go_only_where_they_may)
{
	static const struct {
		const char *url;
		bool good;
	} rows[] = {
		{"https://a", true}, {"https://a:8444/x", true}, {"http://127.0.0.1:8080", true}, {"http://localhost", true}, {"http://[::1]:1/", true},
		{"http://a", false}, {"http://127.0.0.1.example.com", false}, {"http://localhostx", false}, {"https://", false}, {"https:///", false},
		{"ftp://a", false}, {"", false}, {"a", false}, {"http://127.0.0.1@a", false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(plugin_rest_check_server(rows[i].url, NULL) == 0, rows[i].good, "%s", rows[i].url);
	cr_expect_eq(plugin_rest_forwarded_port("Forwarding from 127.0.0.1:40123 -> 8444\n"), 40123);
	cr_expect_eq(plugin_rest_forwarded_port("error\nForwarding from 127.0.0.1:1 -> 8444\n"), 1);
	static const char *const none[] = {"", "Forwarding from [::1]:7 -> 8444", "Forwarding from 127.0.0.1:70000 -> 1", "Forwarding from 127.0.0.1:0 -> 1",
					   "Forwarding from 127.0.0.1:7", "Forwarding from 127.0.0.1:x -> 1"};
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		cr_expect_eq(plugin_rest_forwarded_port(none[i]), 0, "%s", none[i]);
	static const char *const names[] = {"", ".", "..", ".x", "a/b", "a\nb", "/a"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		cr_expect_not(plugin_reports_is_file_name(names[i]), "%s", names[i]);
	cr_expect(plugin_reports_is_file_name("profile.pb.gz"));
}
