/* What kubectl's plugin reads: targets and command lines of people, answers of API server and controller, kubeconfigs and credentials. The
 * first byte chooses. Whatever it is: what is accepted is within its bounds, and what is printed for a terminal is printable. */
#include "common/api/label_selector.h"
#include "common/base/yaml_json.h"
#include "controller/kubectl/doctor_checks.h"
#include "controller/kubectl/exec_credential.h"
#include "controller/kubectl/kubeconfig_files.h"
#include "controller/kubectl/plugin_manifest.h"
#include "controller/kubectl/plugin_print.h"
#include "controller/kubectl/plugin_progress.h"
#include "controller/kubectl/plugin_ps.h"
#include "controller/kubectl/plugin_reports.h"
#include "controller/kubectl/plugin_rest.h"
#include "tests/fuzz/fuzz_tools.h"

#include <stdlib.h>
#include <string.h>

#define WORDS 24
#define TEXT_MAX (8 << 20)

static void check_printable(const struct buf *text)
{
	check(!text->full);
	for (const char *s = buf_str(text); *s; s++)
		check((unsigned char)*s >= 0x20 || *s == '\n');
}

static void try_target(const char *text)
{
	struct plugin_target t;
	struct err e = ERR_INIT;
	if (plugin_target_parse(text, NULL, &t, &e) < 0) {
		check(e.kind == ERR_INVALID && e.message[0]);
		return;
	}
	check(plugin_target_is_name(t.name) && !strchr(t.name, '/') && (t.kind == PLUGIN_TARGET_POD) == !t.plural);
	plugin_target_fini(&t);
}

/* What is accepted reads to the same from its own query form. */
static void try_labels(const char *text)
{
	struct err e = ERR_INIT;
	AUTO_JSON json_t *selector = plugin_target_labels(text, &e);
	if (!selector) {
		check(e.kind == ERR_INVALID && e.message[0]);
		return;
	}
	struct label_requirement *reqs = NULL;
	size_t count = 0;
	check(label_selector_from_json(selector, "s", &reqs, &count, NULL) == 0);
	AUTO_BUF struct buf query, again;
	buf_init(&query, 1 << 16);
	buf_init(&again, 1 << 16);
	label_selector_to_query(reqs, count, &query);
	label_requirements_free(reqs, count);
	AUTO_JSON json_t *second = plugin_target_labels(buf_str(&query), &e);
	check(query.full || second);
	if (!second)
		return;
	check(label_selector_from_json(second, "s", &reqs, &count, NULL) == 0);
	label_selector_to_query(reqs, count, &again);
	label_requirements_free(reqs, count);
	check(strlen(buf_str(&again)) == strlen(buf_str(&query)));
}

static void try_manifest(const struct plugin_args *a)
{
	struct plugin_target t;
	if (plugin_target_parse(a->words.count ? a->words.at[0] : "", a->selector, &t, NULL) < 0)
		return;
	AUTO_JSON json_t *selector = t.selector ? json_incref(t.selector) : json_pack("{s:{s:s}}", "matchLabels", "app", "x");
	AUTO_JSON json_t *manifest = plugin_manifest_make(a, &t, selector, "shop", "x", NULL);
	if (manifest) {
		AUTO_BUF struct buf yaml;
		buf_init(&yaml, TEXT_MAX);
		plugin_manifest_yaml(manifest, &yaml);
		AUTO_JSON json_t *again = jsonx_parse_yaml(buf_str(&yaml), yaml.len, "yaml", NULL);
		check(again && json_equal(manifest, again));
	}
	plugin_target_fini(&t);
}

static void try_options(char *text)
{
	char *argv[WORDS + 2] = {(char *)"program"}, *word;
	int argc = 1;
	struct plugin_args a;
	struct err e = ERR_INIT;
	while (argc <= WORDS && (word = strsep(&text, "\n")))
		argv[argc++] = word;
	if (plugin_options_parse(argc, argv, &a, &e) < 0)
		check(e.kind == ERR_INVALID && e.message[0]);
	else if (a.command == PLUGIN_PROFILE)
		try_manifest(&a);
}

static void try_session(const json_t *doc)
{
	AUTO_BUF struct buf line, result;
	buf_init(&line, TEXT_MAX);
	buf_init(&result, TEXT_MAX);
	plugin_progress_line(doc, 1767225600000, &line);
	check_printable(&line);
	check(!strchr(buf_str(&line), '\n'));
	plugin_progress_result(doc, &(struct term_page){.width = 60}, &result);
	check_printable(&result);
}

static void try_tables(const json_t *doc)
{
	size_t widths[PLUGIN_COLUMNS] = {0};
	AUTO_BUF struct buf text;
	buf_init(&text, TEXT_MAX);
	plugin_print_api_table(doc, true, true, true, widths, &text);
	plugin_ps_print(doc, true, &text);
	check_printable(&text);
}

/* Answers of the wrong kind, too: each check gets each document. */
static void try_doctor(const json_t *doc)
{
	static const struct err none = {.kind = ERR_NOT_FOUND, .message = "x"};
	struct doctor_answer object = {doc, &none}, list = {json_is_array(doc) ? doc : NULL, &none};
	struct doctor_findings f = {0};
	AUTO_BUF struct buf text;
	buf_init(&text, TEXT_MAX);
	doctor_check_server(object, "https://x", &f);
	doctor_check_schema(&doctor_schemas[0], object, &f);
	doctor_check_controller(object, list, list, &f);
	doctor_check_leader(object, 1767225600000, &f);
	doctor_check_agents(list, &f);
	doctor_check_nodes(list, list, &f);
	doctor_check_versions(object, list, &f);
	doctor_check_storage(object, &f);
	doctor_check_network(list, &f);
	doctor_check_pod_security(object, list, &f);
	doctor_check_admission(object, object, &f);
	doctor_check_links(list, list, &f);
	doctor_check_sessions(list, 1767225600000, &f);
	doctor_check_left_out(&f);
	doctor_findings_print(&f, &text);
	check_printable(&text);
	AUTO_JSON json_t *json = doctor_findings_json(&f);
	check(json != NULL);
	doctor_findings_fini(&f);
}

static void try_kubeconfig(const json_t *doc)
{
	AUTO_JSON json_t *merged = json_object();
	if (kubeconfig_files_merge(merged, doc, "/d", NULL) == 0)
		check(kubeconfig_files_merge(merged, doc, "/other", NULL) == 0);
	json_t *user = kubeconfig_files_user(merged, NULL);
	const json_t *exec = jsonx_at(user, "exec");
	if (exec)
		free(exec_credential_info(exec, doc, false));
}

static void try_credential(const char *text, size_t len)
{
	struct err e = ERR_INIT;
	AUTO_JSON json_t *user = json_pack("{s:{}}", "exec");
	if (exec_credential_read(user, text, len, "client.authentication.k8s.io/v1", &e) == 0)
		check(!json_object_get(user, "exec") && (json_object_get(user, "token") || json_object_get(user, "client-key-data")));
	else
		check(e.kind != ERR_NONE && json_object_get(user, "exec"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	char *text = text_of(data + 1, size - 1);
	AUTO_JSON json_t *doc = data[0] % 8 > 3 ? jsonx_parse(text, size - 1, "input", NULL) : NULL;
	switch (data[0] % 8) {
	case 0:
		try_target(text);
		plugin_rest_check_server(text, NULL);
		check(plugin_rest_forwarded_port(text) < 65536);
		plugin_reports_is_file_name(text);
		break;
	case 1:
		try_labels(text);
		break;
	case 2:
		try_options(text);
		break;
	case 3:
		try_credential(text, size - 1);
		break;
	case 4:
		try_session(doc);
		break;
	case 5:
		try_tables(doc);
		break;
	case 6:
		try_doctor(doc);
		break;
	case 7:
		try_kubeconfig(doc);
		break;
	}
	free(text);
	return 0;
}
