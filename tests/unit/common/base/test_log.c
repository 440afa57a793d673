#include "common/base/log.h"

#include "common/base/cleanup.h"
#include "common/base/jsonx.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAPTURE_MAX (4 << 20)

static int saved_stderr;
static FILE *captured;

/* What is logged from here on goes into a file, as a daemon's lines do. */
static void capture_begin(void)
{
	captured = tmpfile();
	saved_stderr = dup(STDERR_FILENO);
	dup2(fileno(captured), STDERR_FILENO);
}

static void capture_end(struct buf *out)
{
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	buf_init(out, CAPTURE_MAX);
	char chunk[8192];
	rewind(captured);
	for (size_t n; (n = fread(chunk, 1, sizeof chunk, captured)) > 0;)
		buf_append(out, chunk, n);
	fclose(captured);
}

Test(log, lines_are_json_whatever_is_logged)
{
	static const char *const hostile[] = {
		"plain", "", "quote \" and \\ backslash", "two\nlines\r\n", "\x1b[31mred\x1b]0;title\x07", "\xff\xfe\xc0\x80 not UTF-8",
		"\xe2\x80\xae right to left", "{\"msg\":\"forged\"}\n{\"level\":\"error\"}", "\x01\x02\x7f", "\xf0\x9f\x98\x80 \xe6\x97\xa5",
	};
	size_t count = sizeof hostile / sizeof hostile[0];
	capture_begin();
	log_configure(LOG_LEVEL_DEBUG, LOG_FORMAT_AUTO); /* JSON: a file is no terminal */
	for (size_t i = 0; i < count; i++)
		LOG_WARN("part", hostile[i], LOG_S("text", hostile[i]), LOG_I("number", INT64_MIN), LOG_S("gone", (const char *)NULL));
	AUTO_BUF struct buf out;
	capture_end(&out);
	char *rest = NULL;
	size_t lines = 0;
	for (char *line = strtok_r(out.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), lines++) {
		struct err e = ERR_INIT;
		AUTO_JSON json_t *doc = jsonx_parse(line, strlen(line), "line", &e);
		cr_assert_not_null(doc, "%s: %s", e.message, line);
		cr_expect_str_eq(jsonx_str_at(doc, "level", ""), "warn");
		cr_expect_str_eq(jsonx_str_at(doc, "component", ""), "part");
		cr_expect_eq(jsonx_int_at(doc, "number", 0), INT64_MIN);
		cr_expect_str_eq(jsonx_str_at(doc, "gone", "?"), "");
		cr_expect_str_eq(jsonx_str_at(doc, "text", "?"), jsonx_str_at(doc, "msg", "!"));
		if (lines < count && !strchr(hostile[lines], '\xff'))
			cr_expect_str_eq(jsonx_str_at(doc, "msg", ""), hostile[lines]);
		for (const char *p = line; *p; p++)
			cr_expect_geq((unsigned char)*p, 0x20, "a control character in line %zu", lines);
	}
	cr_expect_eq(lines, count, "%zu lines", lines);
}

Test(log, text_for_terminals_shows_what_would_move_the_cursor)
{
	capture_begin();
	log_configure(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
	LOG_INFO("link", "agent\nlinked", LOG_S("node", "a b\x1b[2J"), LOG_I("agents", 3));
	LOG_DEBUG("link", "not shown");
	AUTO_BUF struct buf out;
	capture_end(&out);
	cr_expect_eq(strchr(buf_str(&out), '\n'), buf_str(&out) + out.len - 1, "one line: %s", buf_str(&out));
	cr_expect_not_null(strstr(buf_str(&out), " info  link: agent\\x0alinked node=\"a b\\u001b[2J\" agents=3\n"), "%s", buf_str(&out));
}

Test(log, a_long_line_keeps_what_happened)
{
	static char huge[20000];
	memset(huge, 'x', sizeof huge - 1);
	for (int json = 0; json < 2; json++) {
		capture_begin();
		log_configure(LOG_LEVEL_INFO, json ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT);
		LOG_ERROR("part", "it failed", LOG_S("text", huge));
		LOG_ERROR("part", huge);
		LOG_ERROR("part", "after");
		AUTO_BUF struct buf out;
		capture_end(&out);
		const char *text = buf_str(&out);
		cr_expect_lt(out.len, 3 * 8193);
		cr_expect_not_null(strstr(text, "it failed"), "%s", text);
		cr_expect_not_null(strstr(text, "after"), "%s", text);
		int lines = 0;
		for (const char *p = text; (p = strchr(p, '\n')); p++)
			lines++;
		cr_expect_eq(lines, 3, "%d lines", lines);
	}
}

Test(log, levels)
{
	for (int least = LOG_LEVEL_DEBUG; least <= LOG_LEVEL_ERROR; least++) {
		capture_begin();
		log_configure((enum log_level)least, LOG_FORMAT_JSON);
		LOG_DEBUG("p", "m");
		LOG_INFO("p", "m");
		LOG_WARN("p", "m");
		LOG_ERROR("p", "m");
		AUTO_BUF struct buf out;
		capture_end(&out);
		int lines = 0;
		for (const char *p = buf_str(&out); (p = strchr(p, '\n')); p++)
			lines++;
		cr_expect_eq(lines, 4 - least);
	}
}

#define WRITERS 6
#define LINES_EACH 300

static void *write_lines(void *arg)
{
	char text[200];
	memset(text, 'a' + (int)(intptr_t)arg, sizeof text - 1);
	text[sizeof text - 1] = '\0';
	for (int i = 0; i < LINES_EACH; i++)
		LOG_INFO("part", text, LOG_I("thread", (intptr_t)arg), LOG_I("line", i));
	return NULL;
}

Test(log, lines_of_several_threads_do_not_mix)
{
	capture_begin();
	fcntl(STDERR_FILENO, F_SETFL, O_APPEND);
	log_configure(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
	pthread_t threads[WRITERS];
	for (intptr_t i = 0; i < WRITERS; i++)
		pthread_create(&threads[i], NULL, write_lines, (void *)i);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	AUTO_BUF struct buf out;
	capture_end(&out);
	int next[WRITERS] = {0}, lines = 0;
	char *rest = NULL;
	for (char *line = strtok_r(out.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), lines++) {
		struct err e = ERR_INIT;
		AUTO_JSON json_t *doc = jsonx_parse(line, strlen(line), "line", &e);
		cr_assert_not_null(doc, "%s: %s", e.message, line);
		int64_t thread = jsonx_int_at(doc, "thread", -1);
		cr_assert(thread >= 0 && thread < WRITERS);
		cr_expect_eq(jsonx_int_at(doc, "line", -1), next[thread]++);
	}
	cr_expect_eq(lines, WRITERS * LINES_EACH, "%d lines", lines);
}
