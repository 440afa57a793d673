#include "controller/kube/container_end.h"

#include <criterion/criterion.h>
#include <string.h>

#define TERMINATED(id, more) "{\"terminated\":{\"containerID\":\"containerd://" id "\"," more "}}"
#define POD(states) "{\"status\":{\"containerStatuses\":[{\"name\":\"side\",\"state\":{\"running\":{}}},{\"name\":\"app\"," states "}]}}"

/* "": nothing is said. */
static void expect_of(const char *pod, const char *id, const char *wanted)
{
	struct err e = ERR_INIT;
	struct container_end end;
	AUTO_JSON json_t *doc = jsonx_parse(pod, strlen(pod), "test", &e);
	AUTO_BUF struct buf out;
	buf_init(&out, 1024);
	cr_assert_not_null(doc, "%s", e.message);
	if (container_end_of_pod(doc, id, &end))
		container_end_text(&end, &out);
	cr_expect_str_eq(buf_str(&out), wanted, "%s instead of %s", buf_str(&out), wanted);
}

Test(container_end, is_told_of_the_instance_that_was_asked_for)
{
	static const char restarted[] =
		POD("\"state\":{\"running\":{}},\"lastState\":" TERMINATED("ab", "\"exitCode\":134,\"reason\":\"Error\""));
	expect_of(restarted, "ab", "app ended: exit code 134 (SIGABRT)");
	expect_of(restarted, "cd", "");
	expect_of(restarted, "", "");
	expect_of(POD("\"state\":" TERMINATED("ab", "\"exitCode\":137,\"reason\":\"OOMKilled\"")), "ab", "app ended: OOMKilled, exit code 137 (SIGKILL)");
	expect_of(POD("\"state\":" TERMINATED("ab", "\"exitCode\":0,\"reason\":\"Completed\"")), "ab", "app ended: exit code 0");
	expect_of(POD("\"state\":" TERMINATED("ab", "\"exitCode\":3,\"signal\":11")), "ab", "app ended: exit code 3 (SIGSEGV)");
	expect_of(POD("\"state\":" TERMINATED("ab", "\"reason\":\"Error\"")), "ab", "");
	expect_of(POD("\"state\":{\"terminated\":{\"containerID\":\"ab\",\"exitCode\":1}}"), "ab", "");
	expect_of(POD("\"state\":{\"terminated\":{\"containerID\":7,\"exitCode\":1}}"), "ab", "");
	expect_of("{\"status\":{\"initContainerStatuses\":[{\"name\":\"migrate\",\"state\":" TERMINATED("ab", "\"exitCode\":1") "}]}}", "ab",
		  "migrate ended: exit code 1");
	expect_of("{}", "ab", "");
}

Test(container_end, is_told_with_the_exception)
{
	expect_of(POD("\"state\":" TERMINATED("ab", "\"exitCode\":134,\"reason\":\"Error\",\"message\":\"warn: x\\n"
					     "Unhandled exception. System.IO.IOException: no: \\u00e9 secret\\n"
					     "   at Shop.Program.Main(String[] a) in /s/P.cs:line 9\\n\"")),
		  "ab", "app ended: exit code 134 (SIGABRT); unhandled System.IO.IOException, thrown in Shop.Program.Main");
}

Test(container_end, exceptions)
{
	static const struct {
		const char *words, *exception, *thrown_in;
	} rows[] = {
		{"Unhandled exception. System.Exception: a\n   at A.B.C()\n   at A.B.D()", "System.Exception", "A.B.C"},
		{"Unhandled exception. System.Exception: a", "System.Exception", ""},
		{"Unhandled exception. System.Exception", "System.Exception", ""},
		{"Unhandled exception. System.AggregateException: One (a)\n ---> System.InvalidOperationException: a\n   at A.B(Int32 i)\n"
		 "   --- End of inner exception stack trace ---\n   at A.C()", "System.InvalidOperationException", "A.B"},
		{"Unhandled exception. System.Exception: a\n   at A.B()\n ---> System.X: b", "System.Exception", "A.B"},
		{"Unhandled exception. Old: a\n   at Old.M()\nUnhandled exception. New: b\n   at New.M()", "New", "New.M"},
		{"Unhandled exception. \xC3\x84: a\n   at \xC3\x84.\xC3\x96()", "\xC3\x84", "\xC3\x84.\xC3\x96"},
		{"Unhandled exception. ", "", ""},
		{"Unhandled exception. \x1b[31mred: a\n   at A.B()", "", ""},
		{"an exception\n   at A.B()", "", ""},
		{"", "", ""},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct container_end e = {0};
		cr_expect_eq(container_end_exception(rows[i].words, &e), rows[i].exception[0] != '\0', "%zu", i);
		cr_expect_str_eq(e.exception, rows[i].exception, "%zu: %s", i, e.exception);
		cr_expect_str_eq(e.thrown_in, rows[i].thrown_in, "%zu: %s", i, e.thrown_in);
	}
}

Test(container_end, long_names_are_cut)
{
	char words[1200] = "Unhandled exception. ";
	struct container_end e = {0};
	memset(words + strlen(words), 'x', 1000);
	cr_expect(container_end_exception(words, &e));
	cr_expect_eq(strlen(e.exception), sizeof e.exception - 1);
}
