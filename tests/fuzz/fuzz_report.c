/* A report of frames and threads whose names are another's word: lines "<thread>\t<kind>:<type>:<method>;...". Whatever they are, the JSON
 * files are JSON, and no name becomes markup. */
#include "agent/profilers/cpu/cpu_report.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/jsonx.h"
#include "common/base/text.h"
#include "tests/unit/agent/stacks/make_capture.h"
#include "tests/fuzz/fuzz_tools.h"

#include <fcntl.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LINES 40
#define INPUT_MAX 8192
#define REPORT_MAX (16 << 20)

static char folder_path[] = "/tmp/drdotnet-fuzz-XXXXXX";
static int folder = -1;
static size_t plain_tags; /* of a report with harmless names */

static void remove_folder(void)
{
	rmdir(folder_path);
}

static size_t count_tags(const char *html)
{
	size_t n = 0;
	for (; (html = strpbrk(html, "<")); html++)
		n += strncasecmp(html, "<script", 7) == 0 || strncasecmp(html, "</script", 8) == 0 || strncmp(html, "<!--", 4) == 0;
	return n;
}

static char *content(const char *name)
{
	AUTO_BUF struct buf b;
	struct err e = ERR_INIT;
	check(fsio_read(folder, name, REPORT_MAX, &b, &e) == 0);
	return mem_strndup(buf_str(&b), b.len);
}

static void check_json(const char *name)
{
	AUTO_FREE char *text = content(name);
	struct err e = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse(text, strlen(text), name, &e);
	check(doc != NULL);
}

/* The count of tags in the page. */
static size_t write_and_look(const struct made *m)
{
	static const struct report_context context = {"s", "n", "u", "p", "c", "node", NULL};
	struct session_spec spec;
	struct report_result result = {0};
	struct err e = ERR_INIT;
	session_spec_init(&spec, PROFILER_CPU_HOTPATHS);
	check(cpu_report_write(&m->capture, &spec, &context, folder, &result, &e) == 0);
	check(strlen(result.diagnosis) <= DIAGNOSIS_MAX_BYTES && !strpbrk(result.headline, "\n\r\x1b"));
	check_json("report.json");
	check_json("profile.speedscope.json");
	AUTO_FREE char *html = content("report.html");
	for (size_t i = 0; i < result.report_count; i++)
		unlinkat(folder, result.reports[i].name, 0);
	report_result_fini(&result);
	session_spec_fini(&spec);
	return count_tags(html);
}

/* As the agent does with every name that it is told: control characters and what is no UTF-8 are gone. */
static char *printable(const char *text)
{
	AUTO_BUF struct buf b;
	buf_init(&b, 4 * INPUT_MAX);
	text_append_printable(&b, text, strlen(text));
	return mem_strdup(buf_str(&b));
}

static void add(struct made *m, char *line)
{
	char *stack = strchr(line, '\t');
	if (stack)
		*stack++ = '\0';
	AUTO_FREE char *thread = printable(line);
	AUTO_FREE char *frames = printable(stack ? stack : "app:A:B");
	make_samples(m, thread, 3 + (uint32_t)strlen(line) % 5, frames);
}

static size_t report(char *text)
{
	struct made m;
	make_begin(&m);
	char *line;
	for (int i = 0; i < LINES && (line = strsep(&text, "\n")); i++)
		add(&m, line);
	size_t tags = write_and_look(&m);
	make_end(&m);
	return tags;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > INPUT_MAX)
		return 0;
	if (folder < 0) {
		char harmless[] = "main\tapp:A:B";
		check(mkdtemp(folder_path) && (folder = open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0);
		atexit(remove_folder);
		plain_tags = report(harmless);
	}
	AUTO_FREE char *text = mem_strndup((const char *)data, size);
	check(report(text) == plain_tags);
	return 0;
}
