/* Command lines and environments of the three programs, and what the shell completes: words that end with newlines. The first byte chooses the
 * program, or that the text is a summary that is set for a terminal. */
#include "agent/daemon/agent_options.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_typeset.h"
#include "agent/cli/cli_words.h"
#include "common/base/buf.h"
#include "common/base/options.h"
#include "controller/daemon/controller_options.h"
#include "tests/fuzz/fuzz_tools.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS 32

static const char *some_value;

static const char *environment(const char *name)
{
	return strlen(name) % 7 == 0 ? some_value : NULL;
}

static void parse(int which, int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct cli_args cli;
	struct agent_options agent;
	struct controller_settings controller;
	int rc;
	if (which == 0)
		rc = cli_parse(argc, argv, &cli, &e);
	else if (which == 1)
		rc = agent_options_parse(argc, argv, environment, &agent, &e);
	else
		rc = controller_options_parse(argc, argv, environment, &controller, &e);
	if (rc < 0 && (e.kind != ERR_INVALID || !e.message[0]))
		abort();
	if (rc == 0 && which == 1 && agent.command == AGENT_RUN && (agent.port < 0 || agent.port > 65535))
		abort();
	if (rc == 0 && which == 2 && (controller.port < 0 || controller.port > 65535))
		abort();
}

/* Whatever stands in the summary, the terminal gets no other escape sequence than ours. */
static void typeset(const char *text, size_t width)
{
	AUTO_BUF struct buf words, out;
	buf_init(&words, 1 << 20);
	buf_init(&out, 1 << 20);
	cli_words_put(text, &words);
	cli_typeset(&(struct term_page){.width = width}, buf_str(&words), &out);
	if (strchr(buf_str(&out), 0x1b))
		abort();
}

static void complete(int argc, char **argv)
{
	FILE *nowhere = fopen("/dev/null", "w");
	const char *others = cli_complete(argc, argv, nowhere);
	fclose(nowhere);
	if (others && others[0] != ':')
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *argv[WORDS + 2] = {(char *)"program"};
	int argc = 1;
	if (size < 1)
		return 0;
	char *text = text_of(data + 1, size - 1), *rest = text, *word;
	if (data[0] % 5 == 4) {
		typeset(text, data[0]);
		free(text);
		return 0;
	}
	while (argc <= WORDS && (word = strsep(&rest, "\n")))
		argv[argc++] = word;
	some_value = argv[argc - 1];
	option_parse_duration(some_value);
	if (data[0] % 5 == 3)
		complete(argc, argv);
	else
		parse(data[0] % 3, argc, argv);
	free(text);
	return 0;
}
