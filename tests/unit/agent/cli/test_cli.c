#include "agent/cli/cli_completion.h"
#include "agent/cli/cli_library.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_target.h"
#include "agent/cli/cli_typeset.h"
#include "agent/cli/cli_words.h"
#include "agent/cli/ps.h"
#include "common/api/reason.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
		{{"walk"}, "unknown command: walk"},
		{{"sevre"}, "unknown command: sevre; did you mean serve?"},
		{{"run", "--cpu", "x", "y"}, "only one process can be profiled: unexpected word: y"},
		{{"run", "--cpu", "1", "2s", "3s", "4s"}, "unexpected word: 3s"},
		{{"run", "--cpu", "0"}, "the process id: expected a number from 1 to"},
		{{"run", "--cpu", ""}, "a word is empty"},
		{{"run", "--cpu", "--leak"}, "--cpu and --leak: a session runs one profiler"},
		{{"run", "--profiler", "gcsurvivor"}, "did you mean GCSurvivors?"},
		{{"run", "--cpu", "--"}, "the command to start must follow \"--\""},
		{{"run", "4711", "--", "app"}, "give a process that runs, or the command to start, not both: app"},
		{{"run", "--", "dotnet", "run"}, "\"dotnet run\" is a command of the SDK"},
		{{"run", "--", "/usr/bin/dotnet", "watch"}, "\"dotnet watch\" is a command of the SDK"},
		{{"serve", "x"}, "unexpected word: x"},
		{{"serve", "--port", "65536"}, "--port: expected a number from 0 to 65535"},
		{{"serve", "--sessions", "0"}, "--sessions: expected a number from 1 to 16"},
		{{"serve", "--tls-cert", "c"}, "give the certificate and its key"},
		{{"serve", "--no-web-ui", "--no-rest-api"}, "nothing is left to serve"},
		{{"serve", "--pid", "1"}, "unknown option: --pid"},
		{{"run", "-"}, "unexpected word: -"},
		{{"ps", "--pid", "1"}, "unknown option: --pid"},
		{{"diff"}, "a word is missing: drdotnet diff BEFORE AFTER"},
		{{"diff", "a"}, "a word is missing: drdotnet diff BEFORE AFTER"},
		{{"diff", "a", "b", "c"}, "unexpected word: c"},
		{{"diff", "", "b"}, "a word is empty"},
		{{"completion"}, "a word is missing: drdotnet completion bash|zsh|fish"},
		{{"completion", "tcsh"}, "the shell: expected bash, zsh or fish, found \"tcsh\""},
		{{"completon", "zsh"}, "unknown command: completon; did you mean completion?"},
		{{"diff", "a", "b", "--pid", "1"}, "unknown option: --pid"},
		{{"run", "--pidd", "1"}, "unknown option: --pidd; did you mean --pid?"},
		{{"run", "--json=1"}, "takes no value: --json=1"},
		{{"run", "--pid"}, "needs a value: --pid"},
		{{"run", "--pid", "0"}, "--pid: expected a number from 1 to 4194304, found \"0\""},
		{{"run", "--pid", "4194305"}, "--pid: expected"},
		{{"run", "--pid=1x"}, "--pid: expected"},
		{{"run", "--frequency", "1000"}, "--frequency: expected a number from 1 to 999"},
		{{"run", "--frequency", "0"}, "--frequency: expected"},
		{{"run", "--duration", "2h"}, "--duration: expected a time of 1s to 1h"},
		{{"run", "--profiler", "Heap"}, "--profiler: expected CPUHotpaths, GCSurvivors, MemoryLeak,"},
		{{"run", "--roots", "none"}, "--roots: expected Auto, Exact or NoCollection, found \"none\""},
		{{"run", "--walks", "1"}, "--walks: expected a number from 2 to 10"},
		{{"run", "--walks", "11"}, "--walks: expected"},
		{{"run", "--pause-budget", "60001"}, "--pause-budget: expected a number from 1 to 60000"},
		{{"run", "--baseline", ""}, "--baseline: must not be empty"},
		{{"run", "--reveal=1"}, "takes no value: --reveal=1"},
		{{"run", "-f", ""}, "must not be empty"},
		{{"run", "-f", "a", "--profiler", "CPUHotpaths"}, "a manifest or a profiler, not both"},
		{{"run", "-f", "a", "--pid", "1", "--name", "x"}, "by its id or by its name, not both"},
		{{"run", "--cpu", "4711", "--name", "x"}, "only one process can be profiled: unexpected word: 4711"},
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
	cr_expect_eq(a.session.duration_seconds, 120);
	const char *joined[] = {"run", "--profiler=CPUHotpaths", "--name=Shop=1", "--frequency=999", "--json", "-q", NULL};
	cr_assert_eq(parse(joined, &a, NULL), 0);
	cr_expect(a.session.has_profiler && a.session.profiler == PROFILER_CPU_HOTPATHS && a.json && a.quiet && !a.verbose);
	cr_expect_str_eq(a.name, "Shop=1");
	cr_expect_eq(a.session.frequency_hertz, 999);
	const char *diff[] = {"diff", "a", "--json", "b", "-o", "c", NULL};
	cr_assert_eq(parse(diff, &a, NULL), 0);
	cr_expect(a.command == CLI_DIFF && a.json);
	cr_expect_str_eq(a.words.at[0], "a");
	cr_expect_str_eq(a.words.at[1], "b");
	cr_expect_str_eq(a.output, "c");
	const char *symptom[] = {"run", "--leak", "Checkout", "5m", NULL};
	cr_assert_eq(parse(symptom, &a, NULL), 0);
	cr_expect(a.session.profiler == PROFILER_MEMORY_LEAK && a.session.duration_seconds == 300 && a.pid == 0);
	cr_expect_str_eq(a.name, "Checkout");
	const char *mode[] = {"run", "--memory", "--roots", "nocollection", NULL};
	cr_assert_eq(parse(mode, &a, NULL), 0, "whatever the case");
	cr_expect_eq(a.session.roots, 1 + HEAP_ROOTS_NO_COLLECTION);
	const char *process[] = {"run", "30", "--profiler", "gcSURVIVORS", NULL};
	cr_assert_eq(parse(process, &a, NULL), 0, "a number alone is a process");
	cr_expect(a.session.profiler == PROFILER_GC_SURVIVORS && a.session.duration_seconds == 0 && a.pid == 30);
	const char *none[] = {NULL};
	cr_assert_eq(parse(none, &a, NULL), 0);
	cr_expect_eq(a.command, CLI_WELCOME);
	const char *help[] = {"run", "--help", NULL};
	cr_assert_eq(parse(help, &a, NULL), 0, "help needs nothing else");
	cr_expect_eq(a.command, CLI_HELP);
	cr_expect_str_eq(a.about->name, "run");
	const char *shell[] = {"completion", "Bash", NULL};
	cr_assert_eq(parse(shell, &a, NULL), 0);
	cr_expect_eq(a.command, CLI_COMPLETION);
	cr_expect(strstr(cli_completion_script(a.words.at[0]), "complete -F _drdotnet drdotnet"));
}

Test(cli, what_follows_two_dashes_is_started)
{
	static const char *const words[] = {"run", "--leak", "2m", "--", "dotnet", "App.dll", "--cpu", "--", "--help", NULL};
	struct cli_args a;
	struct err e = ERR_INIT;

	cr_assert_eq(parse(words, &a, &e), 0, "%s", e.message);
	cr_expect_eq(a.session.profiler, PROFILER_MEMORY_LEAK);
	cr_expect_eq(a.session.duration_seconds, 120);
	cr_assert_not_null(a.start);
	for (size_t i = 0; words[4 + i]; i++)
		cr_expect_str_eq(a.start[i], words[4 + i]);
	cr_expect_null(a.start[5]);
}

Test(cli, a_process_is_enough)
{
	struct cli_args a;
	const char *alone[] = {"run", "4711", NULL}, *named[] = {"run", "Checkout", NULL}, *nothing[] = {"run", NULL};
	cr_assert_eq(parse(alone, &a, NULL), 0);
	cr_expect(a.pid == 4711 && !a.session.has_profiler && a.session.profiler == PROFILER_CPU_HOTPATHS);
	cr_assert_eq(parse(named, &a, NULL), 0);
	cr_expect_str_eq(a.name, "Checkout");
	cr_assert_eq(parse(nothing, &a, NULL), 0, "the command itself explains what is missing");
	cr_expect(a.command == CLI_RUN && !a.pid && !a.name);
}

Test(cli, gives_settings_to_the_profilers_that_have_them)
{
	static const struct {
		const char *words[WORDS];
		const char *message; /* NULL: good */
	} rows[] = {
		{{"run", "--profiler", "CPUHotpaths", "--frequency", "9", "--duration", "5s"}, NULL},
		{{"run", "--profiler", "CPUHotpaths", "--roots", "Exact"}, "--roots: CPUHotpaths does not have this setting"},
		{{"run", "--profiler", "GCSurvivors", "--roots", "Exact", "--pause-budget", "900", "--reveal"}, NULL},
		{{"run", "--profiler", "GCSurvivors", "--walks", "2"}, "--walks: GCSurvivors does not have this setting"},
		{{"run", "--profiler", "GCSurvivors", "--duration", "5s"}, "--duration: GCSurvivors inspects the heap once"},
		{{"run", "--profiler", "MemoryLeak", "--walks", "10", "--duration", "1h"}, NULL},
		{{"run", "--profiler", "MemoryLeak", "--frequency", "9"}, "--frequency: MemoryLeak does not have this setting"},
		{{"run", "--profiler", "DuplicatedStrings", "--duration=1"}, "--duration: DuplicatedStrings inspects the heap once"},
		{{"run", "--profiler", "DuplicatedStrings", "--roots=Auto"}, "--roots: DuplicatedStrings does not have this setting"},
		{{"run", "--profiler", "Allocations", "--duration", "5s"}, NULL},
		{{"run", "--profiler", "RuntimePauses", "--walks", "2"}, "--walks: RuntimePauses does not have this setting"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct cli_args a;
		struct session_spec spec;
		struct err e = ERR_INIT;
		cr_assert_eq(parse(rows[i].words, &a, &e), 0, "row %zu: %s", i, e.message);
		session_spec_init(&spec, a.session.profiler);
		cr_expect_eq(session_options_check(&a.session, spec.profiler, &e), rows[i].message ? -1 : 0, "row %zu: %s", i, e.message);
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
	session_spec_init(&spec, a.session.profiler);
	spec.pause_budget_ms = 77;
	spec.reveal = true;
	session_options_apply(&a.session, &spec);
	cr_expect_eq(spec.walks, 3);
	cr_expect_eq(spec.roots, HEAP_ROOTS_NO_COLLECTION);
	cr_expect_eq(spec.duration_seconds, 7);
	cr_expect_eq(spec.pause_budget_ms, 77, "was not given");
	cr_expect(spec.reveal);
	session_spec_fini(&spec);
}

static const char *set_for(size_t width, bool colour, const char *markdown)
{
	static struct buf out;
	buf_fini(&out);
	buf_init(&out, 4096);
	cli_typeset(&(struct term_page){.width = width, .colour = colour}, markdown, &out);
	return buf_str(&out);
}

Test(cli, sets_a_summary_for_a_terminal)
{
	static const char summary[] = "# 80% of CPU in \\<Main>\n\nCalled from A.B.  \nUsed `x_y`\x1b.  \n\n"
				      "| self | total | method |\n|---:|---:|---|\n| 5% | 10% | `Shop.Cart.Total` |\n| 100% | 1% | `A` |\n\nend\n";
	cr_expect_str_eq(set_for(80, false, summary), "80% of CPU in <Main>\n\nCalled from A.B.\nUsed x_y\\x1b.\n\n"
						      "self  total  method\n  5%    10%  Shop.Cart.Total\n100%     1%  A\n\nend\n");
	const char *coloured = set_for(80, true, summary);
	cr_expect(strstr(coloured, "\x1b[1m80% of CPU in <Main>\x1b[0m\n"), "%s", coloured);
	cr_expect(strstr(coloured, "\x1b[2mself  total  method\x1b[0m\n"), "%s", coloured);
	cr_expect_not(strstr(coloured, "x_y\x1b."), "of the summary's own none come through");
}

Test(cli, a_summary_fits_the_width)
{
	char line[400] = "| share | what |\n|---:|---|\n| 1% | `";
	for (int i = 0; i < 10; i++)
		strcat(line, "Höhe.Ungeheuer.");
	strcat(line, "Last` |\nSix words and more words that do not fit into forty columns\n");
	const char *text = set_for(1, false, line);
	for (const char *at = text; *at;) {
		size_t bytes = strcspn(at, "\n"), columns = 0;
		for (size_t i = 0; i < bytes; i++)
			columns += ((unsigned char)at[i] & 0xC0) != 0x80;
		cr_expect_leq(columns, TERM_PAGE_MIN_WIDTH, "%.*s", (int)bytes, at);
		at += bytes + (at[bytes] == '\n');
	}
	cr_expect(strstr(text, "Ungeheuer.Last\n"), "the end of a name stays: %s", text);
	cr_expect(strstr(text, "   1%  …"), "%s", text);
	text = set_for(0, false, line);
	cr_expect(strstr(text, "   1%  Höhe.Ungeheuer.Höhe."), "without a terminal all of it stands there: %s", text);
	cr_expect(strstr(text, "\nSix words and more words that do not fit into forty columns\n"), "%s", text);
}

Test(cli, no_mark_of_markdown_is_left)
{
	cr_expect_str_eq(set_for(80, false, "# **80%** of `a**b`\n**Next**: 2 * 3 * 4, \\*\\*\n"), "80% of a**b\nNext: 2 * 3 * 4, **\n");
	cr_expect_str_eq(set_for(80, false, "in `` List`1.Add ``, `` `a` `` and `\\|` of ```x\n"), "in List`1.Add, `a` and \\| of ```x\n");
	cr_expect_str_eq(set_for(80, false, "| a |\n|---|\n| `` x`1\\|y `` |\n| `\\|` |\n"), "a\nx`1|y\n|\n");
}

Test(cli, the_last_column_may_go_on_below)
{
	struct term_table t = {.wrap_last = true};
	AUTO_BUF struct buf out;
	for (int row = 0; row < 2; row++) {
		char *cells[] = {mem_strdup(row ? "4711" : "PID"), mem_strdup(row ? "no: it is not one that can be profiled here" : "PROFILABLE")};
		term_table_add_row_take(&t, cells, 2);
	}
	buf_init(&out, 4096);
	term_table_put(&(struct term_page){.width = 40}, &t, &out);
	cr_expect_str_eq(buf_str(&out), "PID   PROFILABLE\n4711  no: it is not one that can be\n      profiled here\n");
}

Test(cli, speaks_of_options)
{
	static const struct {
		const char *said, *spoken;
	} rows[] = {
		{"a pauseBudgetMilliseconds of 900 would do", "--pause-budget 900 would do"},
		{"A pauseBudgetMilliseconds of 900 may do", "--pause-budget 900 may do"},
		{"holders need pauseBudgetMilliseconds: 900 and", "holders need --pause-budget 900 and"},
		{"Raise spec.pauseBudgetMilliseconds, or", "Raise --pause-budget, or"},
		{"with memoryLeak.walks: 5 or more", "with --walks 5 or more"},
		{"Two walks cannot tell", "Two walks cannot tell"},
		{"longer (durationSeconds), with", "longer (--duration), with"},
		{"run the session again with roots: Exact.", "run the session again with --roots Exact."},
		{"from roots to them, roots: none, a roots", "from roots to them, roots: none, a roots"},
		{"spec.gcSurvivors.roots", "--roots"},
		{"My.pauseBudgetMilliseconds, xwalks: 5", "My.pauseBudgetMilliseconds, xwalks: 5"},
		{"the agent's memory; The agent may not", "drdotnet's memory; drdotnet may not"},
		{"", ""}, {"a", "a"}, {"spec.", "spec."}, {"walks", "walks"}, {"walks:", "walks:"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_BUF struct buf out;
		buf_init(&out, 400);
		cli_words_put(rows[i].said, &out);
		cr_expect_str_eq(buf_str(&out), rows[i].spoken);
	}
}

/* Reasons that take a cluster; all others may be met on one machine. */
static bool of_clusters(const char *reason)
{
	static const char *const all[] = {
		"Accepted", "RevealNotEnforced", "Pending", "Queued", "Preparing", "Analyzing", "Delivering", "PartiallySucceeded", "NoPodsMatched",
		"PodNotFound", "PodNotRunning", "PodNotReady", "PodGone", "NodeWithoutAgent", "AgentLost", "AgentTooOld", "StoreNotFound", "UploadFailed",
		"DeliveryExpired", "NoContainerStarted", "StartsNotEnabled", "StartMissed",
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (strcmp(all[i], reason) == 0)
			return true;
	return false;
}

Test(cli, remedies_are_for_one_machine)
{
#define NAME_OF(name, remedy) #name,
	static const char *const reasons[] = {REASON_LIST(NAME_OF)};
	static const char *const words[] = {"spec.", "status.", "pod", "agent", "the node", "controller", "container's", "emptyDir", "roots:"};
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		const char *remedy = cli_words_remedy(reasons[i]);
		cr_assert_not_null(remedy, "%s", reasons[i]);
		for (size_t k = 0; k < sizeof words / sizeof *words && !of_clusters(reasons[i]); k++)
			cr_expect_not(strstr(remedy, words[k]), "%s: %s", reasons[i], remedy);
	}
	cr_expect_null(strstr(cli_words_remedy("HeapTooLarge"), "--roots"), "DuplicatedStrings does not have that option");
	cr_expect_null(cli_words_remedy(NULL));
	cr_expect_null(cli_words_remedy("NoReason"));
}

Test(cli, words_for_the_completion_are_of_processes)
{
	char shop[] = "Shop", odd[] = "a b;c", dash[] = "-x", text[64] = "";
	struct target items[] = {{.pid = 10, .entrypoint = shop}, {.pid = 110, .entrypoint = odd}, {.pid = 12, .entrypoint = dash}, {.pid = 20}};
	struct target_list l = {.items = items, .count = 4};
	FILE *out = fmemopen(text, sizeof text, "w");
	ps_print_words(&l, "", out);
	ps_print_words(&l, "1", out);
	ps_print_words(&l, "Sh", out);
	fclose(out);
	cr_expect_str_eq(text, "10\nShop\n110\n12\n20\n10\n110\n12\nShop\n");
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
		{"Shop", 0, 0}, {"Mail", 1, 0}, {"shop", 0, 0}, {"MAIL.DLL", 1, 0}, {"Shop.dll", 0, 0}, {"--blue", 1, 0}, {"--BLUE", 1, 0},
		{"--green", -1, ERR_NOT_FOUND},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct err e = ERR_INIT;
		cr_expect_eq(cli_target_choose(&l, rows[i].name, &e), rows[i].index, "%s", rows[i].name);
		if (rows[i].index < 0)
			cr_expect_eq(e.kind, rows[i].kind);
	}
	struct err e = ERR_INIT;
	cr_expect_eq(cli_target_choose(&l, "--eu", &e), -1, "two processes: which?");
	cr_expect_str_eq(e.message, "2 .NET processes match: Shop (pid 10), Mail (pid 11)");
	cr_expect_eq(e.reason, REASON_AmbiguousProcess);
	cr_expect_eq(cli_target_choose(&l, NULL, NULL), -1);
	e = (struct err)ERR_INIT;
	cr_expect_eq(cli_target_choose(&l, "Shup", &e), -1);
	cr_expect_str_eq(e.message, "no .NET process has \"Shup\" as its name or in its command line; did you mean Shop?");
	l.count = 1;
	cr_expect_eq(cli_target_choose(&l, NULL, NULL), 0, "the only one");
}

Test(cli, a_process_that_tells_no_name_says_more_than_that_none_matches)
{
	char why[] = "stopped (state T)", shop[] = "Shop";
	struct target items[] = {
		{.pid = 10, .inner_pid = 10, .reason = REASON_ProcessStopped, .message = why},
		{.pid = 11, .profilable = true, .entrypoint = shop},
	};
	struct target_list l = {.items = items, .count = 1};
	struct err e = ERR_INIT;
	cr_expect_eq(cli_target_choose(&l, "Shop", &e), -1);
	cr_expect_eq(e.reason, REASON_ProcessStopped);
	l.count = 2;
	e = (struct err)ERR_INIT;
	cr_expect_eq(cli_target_choose(&l, "Shup", &e), -1);
	cr_expect_str_eq(e.message, "no .NET process has \"Shup\" as its name or in its command line; did you mean Shop?");
}

Test(cli, where_no_process_is_found_others_may_have_some)
{
	struct target_list l = {.hidden = 6};
	struct err e = ERR_INIT;
	cr_expect_eq(cli_target_choose(&l, "Shop", &e), -1);
	cr_expect_str_eq(e.message, "no .NET process of this user was found; 6 belong to other users: use sudo");
	l.hidden = 0;
	e = (struct err)ERR_INIT;
	cr_expect_eq(cli_target_choose(&l, NULL, &e), -1);
	cr_expect_str_eq(e.message, "no .NET process was found");
}

Test(cli, finds_the_library_where_it_is_installed)
{
	char folder[] = "/tmp/drdotnet-cli-XXXXXX", exe[64], path[3][64];
	cr_assert_not_null(mkdtemp(folder));
	snprintf(exe, sizeof exe, "%s/bin/drdotnet", folder);
	const char *const below[] = {"bin", "lib", "lib/drdotnet"};
	for (int i = 0; i < 3; i++) {
		snprintf(path[i], sizeof path[i], "%s/%s", folder, below[i]);
		cr_assert_eq(mkdir(path[i], 0700), 0);
	}
	char library[128];
	snprintf(library, sizeof library, "%s/libdrdotnet.so", path[2]);
	fclose(fopen(library, "w"));
	char *found = cli_library_find_from(exe, NULL, NULL);
	cr_expect(found && strstr(found, "/bin/../lib/drdotnet/libdrdotnet.so"), "%s", found ? found : "none");
	free(found);
	unlink(library);
	for (int i = 2; i >= 0; i--)
		rmdir(path[i]);
	rmdir(folder);
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
