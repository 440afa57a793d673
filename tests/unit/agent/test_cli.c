#include "agent/cli_library.h"
#include "agent/cli_options.h"
#include "agent/cli_settings.h"
#include "agent/cli_target.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Test(cli, reads_durations)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} rows[] = {
		{"1", 1}, {"90s", 90}, {"2m", 120}, {"1h", 3600}, {"60m", 3600}, {"3600", 3600},
		{"3601", -1}, {"61m", -1}, {"2h", -1}, {"0", -1}, {"-1", -1}, {"+1", -1}, {" 1", -1}, {"1 s", -1}, {"1ms", -1}, {"s", -1},
		{"", -1}, {"99999999999999999999", -1}, {"1S", -1},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(cli_parse_duration(rows[i].text), rows[i].seconds, "\"%s\"", rows[i].text);
}

#define WORDS 10

/* The words are only read. */
static int parse(const char *const *words, struct cli_args *out, struct err *e)
{
	static char program[] = "drdotnet";
	char *argv[WORDS + 1] = {program};
	int argc = 1;
	for (; argc < WORDS && words[argc - 1]; argc++)
		memcpy(&argv[argc], &words[argc - 1], sizeof *argv);
	return cli_parse(argc, argv, out, e);
}

Test(cli, refuses_with_the_word_that_is_wrong)
{
	static const struct {
		const char *words[WORDS];
		const char *message;
	} rows[] = {
		{{NULL}, "a command is missing"},
		{{"walk"}, "unknown command: walk"},
		{{"run"}, "say what to run"},
		{{"run", "x"}, "unexpected word: x"},
		{{"serve", "x"}, "unexpected word: x"},
		{{"serve", "--port", "65536"}, "--port: expected a port"},
		{{"serve", "--sessions", "0"}, "--sessions: expected a number from 1 to 16"},
		{{"serve", "--tls-cert", "c"}, "give the certificate and its key"},
		{{"serve", "--no-web-ui", "--no-rest-api"}, "nothing is left to serve"},
		{{"serve", "--pid", "1"}, "unknown option: --pid"},
		{{"run", "-"}, "unexpected word: -"},
		{{"ps", "--pid", "1"}, "unknown option: --pid"},
		{{"diff"}, "give two reports to compare"},
		{{"diff", "a"}, "give two reports to compare"},
		{{"diff", "a", "b", "c"}, "unexpected word: c"},
		{{"diff", "", "b"}, "expected a report"},
		{{"diff", "a", "b", "--pid", "1"}, "unknown option: --pid"},
		{{"run", "--pidd", "1"}, "unknown option: --pidd"},
		{{"run", "--json=1"}, "takes no value: --json=1"},
		{{"run", "--pid"}, "needs a value: --pid"},
		{{"run", "--pid", "0"}, "--pid: expected a process id, found \"0\""},
		{{"run", "--pid", "4194305"}, "--pid: expected"},
		{{"run", "--pid=1x"}, "--pid: expected"},
		{{"run", "--frequency", "1000"}, "--frequency: expected a number from 1 to 999"},
		{{"run", "--frequency", "0"}, "--frequency: expected"},
		{{"run", "--duration", "2h"}, "--duration: expected a time of 1s to 1h"},
		{{"run", "--profiler", "Heap"}, "--profiler: expected CPUHotpaths, GCSurvivors, MemoryLeak,"},
		{{"run", "--roots", "auto"}, "--roots: expected Auto, Exact or NoCollection"},
		{{"run", "--walks", "1"}, "--walks: expected a number from 2 to 10"},
		{{"run", "--walks", "11"}, "--walks: expected"},
		{{"run", "--pause-budget", "60001"}, "--pause-budget: expected a number from 1 to 60000"},
		{{"run", "--baseline", ""}, "--baseline: expected a file"},
		{{"run", "--reveal=1"}, "takes no value: --reveal=1"},
		{{"run", "-f", ""}, "expected a file"},
		{{"run", "-f", "a", "--profiler", "CPUHotpaths"}, "a manifest or a profiler, not both"},
		{{"run", "-f", "a", "--pid", "1", "--name", "x"}, "by its id or by its name, not both"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct cli_args a;
		struct err e = ERR_INIT;
		cr_assert_eq(parse(rows[i].words, &a, &e), -1, "row %zu", i);
		cr_expect_eq(e.kind, ERR_INVALID);
		cr_expect(strstr(e.message, rows[i].message), "row %zu: %s", i, e.message);
	}
}

Test(cli, takes_values_in_both_spellings)
{
	struct cli_args a;
	const char *apart[] = {"run", "-f", "s.yaml", "--pid", "4194304", "-o", "d", "--duration", "2m", NULL};
	cr_assert_eq(parse(apart, &a, NULL), 0);
	cr_expect_eq(a.command, CLI_RUN);
	cr_expect_str_eq(a.file, "s.yaml");
	cr_expect_str_eq(a.output, "d");
	cr_expect_eq(a.pid, 4194304);
	cr_expect_eq(a.duration_seconds, 120);
	const char *joined[] = {"run", "--profiler=CPUHotpaths", "--name=Shop=1", "--frequency=999", "--json", "-q", NULL};
	cr_assert_eq(parse(joined, &a, NULL), 0);
	cr_expect(a.has_profiler && a.profiler == PROFILER_CPU_HOTPATHS && a.json && a.quiet && !a.verbose);
	cr_expect_str_eq(a.name, "Shop=1");
	cr_expect_eq(a.frequency_hertz, 999);
	const char *diff[] = {"diff", "a", "--json", "b", "-o", "c", NULL};
	cr_assert_eq(parse(diff, &a, NULL), 0);
	cr_expect(a.command == CLI_DIFF && a.json);
	cr_expect_str_eq(a.operands[0], "a");
	cr_expect_str_eq(a.operands[1], "b");
	cr_expect_str_eq(a.output, "c");
	const char *help[] = {"run", "--help", NULL};
	cr_assert_eq(parse(help, &a, NULL), 0, "help needs nothing else");
	cr_expect_eq(a.command, CLI_HELP);
	cr_expect_str_eq(a.about, "run");
}

Test(cli, gives_settings_to_the_profilers_that_have_them)
{
	static const struct {
		const char *words[WORDS];
		const char *message; /* NULL: good */
	} rows[] = {
		{{"run", "--profiler", "CPUHotpaths", "--frequency", "9", "--duration", "5s"}, NULL},
		{{"run", "--profiler", "CPUHotpaths", "--roots", "Exact"}, "--roots: CPUHotpaths does not take it"},
		{{"run", "--profiler", "GCSurvivors", "--roots", "Exact", "--pause-budget", "900", "--reveal"}, NULL},
		{{"run", "--profiler", "GCSurvivors", "--walks", "2"}, "--walks: GCSurvivors does not take it"},
		{{"run", "--profiler", "GCSurvivors", "--duration", "5s"}, "--duration: GCSurvivors takes one look at the heap"},
		{{"run", "--profiler", "MemoryLeak", "--walks", "10", "--duration", "1h"}, NULL},
		{{"run", "--profiler", "MemoryLeak", "--frequency", "9"}, "--frequency: MemoryLeak does not take it"},
		{{"run", "--profiler", "DuplicatedStrings", "--duration=1"}, "--duration: DuplicatedStrings takes one look"},
		{{"run", "--profiler", "DuplicatedStrings", "--roots=Auto"}, "--roots: DuplicatedStrings does not take it"},
		{{"run", "--profiler", "Allocations", "--duration", "5s"}, NULL},
		{{"run", "--profiler", "RuntimePauses", "--walks", "2"}, "--walks: RuntimePauses does not take it"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct cli_args a;
		struct session_spec spec;
		struct err e = ERR_INIT;
		cr_assert_eq(parse(rows[i].words, &a, &e), 0, "row %zu: %s", i, e.message);
		session_spec_init(&spec, a.profiler);
		cr_expect_eq(cli_settings_apply(&a, &spec, &e), rows[i].message ? -1 : 0, "row %zu: %s", i, e.message);
		if (rows[i].message)
			cr_expect(e.kind == ERR_INVALID && strstr(e.message, rows[i].message), "row %zu: %s", i, e.message);
		session_spec_fini(&spec);
	}
}

Test(cli, what_is_given_goes_over_what_stands_in_the_spec)
{
	static const char *const words[] = {"run", "--profiler=MemoryLeak", "--walks=3", "--roots=NoCollection", "--duration=7s", NULL};
	struct cli_args a;
	struct session_spec spec;
	cr_assert_eq(parse(words, &a, NULL), 0);
	session_spec_init(&spec, a.profiler);
	struct err e = ERR_INIT;
	spec.baseline_session = strdup("before");
	cr_expect_eq(cli_settings_apply(&a, &spec, &e), -1);
	cr_expect(strstr(e.message, "--baseline FILE"), "%s", e.message);
	free(spec.baseline_session);
	spec.baseline_session = NULL;
	spec.pause_budget_ms = 77;
	spec.reveal = true;
	cr_assert_eq(cli_settings_apply(&a, &spec, NULL), 0);
	cr_expect_eq(spec.walks, 3);
	cr_expect_eq(spec.roots, HEAP_ROOTS_NO_COLLECTION);
	cr_expect_eq(spec.duration_seconds, 7);
	cr_expect_eq(spec.pause_budget_ms, 77, "was not given");
	cr_expect(spec.reveal);
	session_spec_fini(&spec);
}

Test(cli, chooses_by_name_then_by_command_line)
{
	char shop[] = "Shop", mail[] = "Mail", shop_line[] = "dotnet Shop.dll --eu", mail_line[] = "dotnet Mail.dll --eu --blue";
	struct target items[] = {
		{.pid = 10, .profilable = true, .entrypoint = shop, .command_line = shop_line},
		{.pid = 11, .profilable = true, .entrypoint = mail, .command_line = mail_line},
	};
	struct target_list l = {.items = items, .count = 2};
	static const struct {
		const char *name;
		ssize_t index;
		enum err_kind kind;
	} rows[] = {
		{"Shop", 0, 0}, {"Mail", 1, 0}, {"--blue", 1, 0}, {"--green", -1, ERR_NOT_FOUND},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct err e = ERR_INIT;
		cr_expect_eq(cli_target_choose(&l, rows[i].name, &e), rows[i].index, "%s", rows[i].name);
		if (rows[i].index < 0)
			cr_expect_eq(e.kind, rows[i].kind);
	}
	cr_expect_eq(cli_target_choose(&l, "--eu", NULL), -1, "two processes: which?");
	cr_expect_eq(cli_target_choose(&l, NULL, NULL), -1);
	l.count = 1;
	cr_expect_eq(cli_target_choose(&l, NULL, NULL), 0, "the only one");
}

Test(cli, finds_the_library_beside_itself_first)
{
	char folder[] = "/tmp/drdotnet-cli-XXXXXX", exe[64], beside[64], other[64];
	struct err e = ERR_INIT;
	cr_assert_not_null(mkdtemp(folder));
	snprintf(exe, sizeof exe, "%s/drdotnet", folder);
	snprintf(beside, sizeof beside, "%s/libdrdotnet.so", folder);
	snprintf(other, sizeof other, "%s/other.so", folder);
	cr_expect_null(cli_library_find_from(exe, other, &e));
	cr_expect_eq(e.kind, ERR_NOT_FOUND);
	cr_expect(strstr(e.message, beside), "%s", e.message);
	fclose(fopen(other, "w"));
	char *found = cli_library_find_from(exe, other, NULL);
	cr_expect_str_eq(found, other);
	free(found);
	fclose(fopen(beside, "w"));
	found = cli_library_find_from(exe, other, NULL);
	cr_expect_str_eq(found, beside);
	free(found);
	unlink(other);
	unlink(beside);
	rmdir(folder);
}
