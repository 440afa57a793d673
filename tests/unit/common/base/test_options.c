#include "common/base/options.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

struct settings {
	const char *text;
	int64_t number;
	bool on, off, value;
	int word;
	struct option_words words;
};

static int end(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	(void)row, (void)name, (void)value, (void)args, (void)e;
	return OPTIONS_END;
}

static const struct option_row rows[] = {
	{.name = "--text", .brief = "-t", .argument = "TEXT", .env = "TEXT", .set = option_set_text, .at = offsetof(struct settings, text),
	 .values = "one two", .help = "a text\nof two lines", .initial = "none"},
	{.name = "--number", .argument = "N", .env = "NUMBER", .commands = 1u << 4, .set = option_set_number, .at = offsetof(struct settings, number),
	 .least = -1, .most = 9, .help = "a number"},
	{.name = "--on", .env = "ON", .set = option_set_on, .at = offsetof(struct settings, on), .help = "on"},
	{.name = "--no-off", .env = "OFF", .set = option_set_off, .at = offsetof(struct settings, off), .help = "off"},
	{.name = "--value", .commands = 1u << 5, .set = option_set_on, .at = offsetof(struct settings, value), .help = "value"},
	{.name = "--maybe", .argument = "[=WORD]", .set = option_set_on, .at = offsetof(struct settings, on), .help = "maybe"},
	{.name = "--place", .argument = "FILE", .set = option_set_text, .at = offsetof(struct settings, text), .values = ":files", .help = "a place"},
	{.help = "heading"},
	OPTION_WORD(struct settings, word, "--word", "WORD", "Auto Exact NoCollection", "a word", .least = 1),
	{.name = "--end", .set = end, .help = "end"},
};

static int check_first(void *args, struct err *e)
{
	const struct settings *s = args;
	return s->number == 9 ? err_set(e, ERR_INVALID, 0, "nine of %s", s->words.at[0]) : 0;
}

enum { FIRST = OPTION_COMMANDS, SECOND };
static const struct option_command commands[] = {
	{.name = "first", .command = FIRST, .operands = ":processes", .least = 1, .most = 2, .usage = "first WORD\nfirst WORD WORD",
	 .help = "the first", .details = "  WORD   a word", .check = check_first},
	{.name = "second", .command = SECOND, .operands = "bash zsh", .usage = "second", .help = "the second"},
};
static const struct option_program program = {
	.name = "drprogram", .about = "It does.", .details = "exit status: 0", .commands = commands, .command_count = 2,
	.options = {.rows = rows, .count = sizeof rows / sizeof *rows, .words_at = offsetof(struct settings, words)}};

#define WORDS 6

static int copy_words(const char *const words[WORDS], char *argv[WORDS])
{
	int argc = 0;
	for (; argc < WORDS && words[argc]; argc++)
		memcpy(&argv[argc], &words[argc], sizeof *argv);
	return argc;
}

static int read_words(unsigned command, const char *const words[WORDS], struct settings *s, struct err *e)
{
	char *argv[WORDS];
	int argc = copy_words(words, argv);
	struct option_table t = option_program_table(&program, &commands[command - 1]);
	t.has_words = false;
	*s = (struct settings){.off = true};
	return options_read_words(&t, argc, argv, 0, s, e);
}

Test(options, are_read_in_each_spelling)
{
	struct settings s;
	static const char *const words[WORDS] = {"-t", "a=b", "--number=-1", "--on", "--no-off"};
	cr_assert_eq(read_words(1, words, &s, NULL), 0);
	cr_expect_str_eq(s.text, "a=b");
	cr_expect(s.number == -1 && s.on && !s.off);
	static const char *const more[WORDS] = {"--value", "--maybe", "--text=", "x"};
	struct err e = ERR_INIT;
	cr_expect_eq(read_words(2, more, &s, &e), -1);
	cr_expect_str_eq(e.message, "--text: must not be empty");
	cr_expect(s.value && s.on);
	static const char *const word[WORDS] = {"--word", "exACT"};
	cr_assert_eq(read_words(1, word, &s, NULL), 0);
	cr_expect_eq(s.word, 2, "whatever the case");
	static const char *const ended[WORDS] = {"--end", "--nonsense"};
	cr_expect_eq(read_words(2, ended, &s, NULL), OPTIONS_END, "nothing is read after it");
}

Test(options, are_refused_with_the_word_that_is_wrong)
{
	static const struct {
		const char *words[WORDS], *message;
	} table[] = {
		{{"--numbr", "1"}, "unknown option: --numbr; did you mean --number?"},
		{{"--NUMBER=1"}, "unknown option: --NUMBER=1; did you mean --number?"},
		{{"--quite-something-else"}, "unknown option: --quite-something-else"},
		{{"--value"}, "unknown option: --value"}, /* of the other command */
		{{"--a-word-that-is-longer-than-any-name-here"}, "unknown option: --a-word-that-is-longer-than-any-name-here"},
		{{"--number"}, "this option needs a value: --number"},
		{{"--on=true"}, "this option takes no value: --on=true"},
		{{"--number", "10"}, "--number: expected a number from -1 to 9, found \"10\""},
		{{"--number", "99999999999999999999"}, "--number: expected a number from -1 to 9, found \"99999999999999999999\""},
		{{"--number="}, "--number: expected a number from -1 to 9, found \"\""},
		{{"--maybe=x"}, "--maybe: expected true or false, found \"x\""},
		{{"word"}, "unexpected word: word"},
		{{"-"}, "unexpected word: -"},
		{{"--word=exct"}, "--word: expected Auto, Exact or NoCollection, found \"exct\"; did you mean Exact?"},
		{{"--word", "other"}, "--word: expected Auto, Exact or NoCollection, found \"other\""},
		{{"--word="}, "--word: expected Auto, Exact or NoCollection, found \"\""},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct settings s;
		struct err e = ERR_INIT;
		cr_expect_eq(read_words(1, table[i].words, &s, &e), -1);
		cr_expect_eq(e.kind, ERR_INVALID);
		cr_expect_str_eq(e.message, table[i].message);
	}
}

static const char *environment(const char *name)
{
	return strcmp(name, "NUMBER") == 0 ? "5" : strcmp(name, "OFF") == 0 ? "false" : strcmp(name, "TEXT") == 0 ? "" : NULL;
}

static const char *wrong_environment(const char *name)
{
	return strcmp(name, "ON") == 0 ? "maybe" : NULL;
}

Test(options, may_come_from_the_environment)
{
	struct settings s = {.off = true};
	struct err e = ERR_INIT;
	cr_assert_eq(options_read_environment(&program.options, environment, &s, &e), 0, "%s", e.message);
	cr_expect(s.number == 5 && !s.off);
	cr_expect_str_eq(s.text, "none", "an empty variable counts as unset");
	cr_expect_eq(options_read_environment(&program.options, wrong_environment, &s, &e), -1);
	cr_expect_str_eq(e.message, "ON: expected true or false, found \"maybe\"");
}

Test(options, durations)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} table[] = {
		{"1", 1}, {"90s", 90}, {"2m", 120}, {"1h", 3600}, {"60m", 3600}, {"3600", 3600},
		{"3601", -1}, {"61m", -1}, {"2h", -1}, {"0", -1}, {"-1", -1}, {"+1", -1}, {" 1", -1}, {"1 s", -1}, {"1ms", -1}, {"s", -1},
		{"", -1}, {"99999999999999999999", -1}, {"1S", -1},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		cr_expect_eq(option_parse_duration(table[i].text), table[i].seconds, "\"%s\"", table[i].text);
}

Test(options, the_nearest_name)
{
	static const char *const names[] = {"run", "serve", NULL, "CPUHotpaths"};
	static const struct {
		const char *word, *name;
	} table[] = {{"rnu", "run"}, {"cpuhotpaths", "CPUHotpaths"},
		     {"CPUHotPath", "CPUHotpaths"}, {"sreve", "serve"}, {"x", NULL}, {"heap", NULL}, {"", NULL}};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		const char *found = option_nearest(table[i].word, names, 4);
		cr_expect(found == table[i].name || (found && table[i].name && strcmp(found, table[i].name) == 0), "%s: %s", table[i].word,
			  found ? found : "none");
	}
}

static const char *written(void (*write)(FILE *out))
{
	static char text[2048];
	memset(text, 0, sizeof text);
	FILE *out = fmemopen(text, sizeof text - 1, "w");
	write(out);
	fclose(out);
	return text;
}

static void write_help(FILE *out)
{
	struct option_table t = option_program_table(&program, &commands[1]);
	options_print_help(&t, out);
}

Test(options, help_has_the_rows_of_the_command)
{
	const char *text = written(write_help);
	cr_expect(strstr(text, "  -t, --text TEXT             a text\n                              of two lines\n"
			       "                              default: none\n                              environment: TEXT\n"), "%s", text);
	cr_expect(strstr(text, "  --maybe[=WORD]  "), "%s", text);
	cr_expect(strstr(text, "  --value ") && !strstr(text, "--number"), "%s", text);
	cr_expect(strstr(text, "\n\nheading:\n  --word WORD "), "%s", text);
}

static void write_command_help(FILE *out)
{
	option_program_print_help(&program, &commands[0], out);
}

static void write_program_help(FILE *out)
{
	option_program_print_help(&program, NULL, out);
}

Test(options, help_of_programs)
{
	static const char begin[] = "usage: drprogram first WORD\n       drprogram first WORD WORD\n\nthe first\n\n  WORD   a word\n";
	const char *text = written(write_command_help);
	cr_expect_eq(strncmp(text, begin, strlen(begin)), 0, "%s", text);
	cr_expect_str_eq(written(write_program_help), "It does.\n\ncommands:\n  first      the first\n  second     the second\n\nexit status: 0\n");
}

Test(options, a_program_reads_its_command)
{
	static const struct {
		const char *words[WORDS];
		int number;
		const char *command, *message; /* NULL: none */
	} table[] = {
		{{"p"}, OPTION_ALONE, NULL, NULL},
		{{"p", "--help"}, OPTION_HELP, NULL, NULL},
		{{"p", "-h", "x"}, OPTION_HELP, NULL, NULL},
		{{"p", "help"}, OPTION_HELP, NULL, NULL},
		{{"p", "help", "second"}, OPTION_HELP, "second", NULL},
		{{"p", "help", "secnd"}, -1, NULL, "unknown command: secnd; did you mean second?"},
		{{"p", "--version"}, OPTION_VERSION, NULL, NULL},
		{{"p", "version"}, OPTION_VERSION, NULL, NULL},
		{{"p", "--complete", "x"}, OPTION_COMPLETING, NULL, NULL},
		{{"p", "third"}, -1, NULL, "unknown command: third"},
		{{"p", "first", "a"}, FIRST, "first", NULL},
		{{"p", "first", "--end", "--nonsense"}, OPTION_HELP, "first", NULL},
		{{"p", "first"}, -1, "first", "a word is missing: drprogram first WORD"},
		{{"p", "first", "a", "b", "c"}, -1, "first", "unexpected word: c"},
		{{"p", "first", ""}, -1, "first", "a word is empty"},
		{{"p", "first", "a", "--number", "9"}, -1, "first", "nine of a"},
		{{"p", "first", "a", "--value"}, -1, "first", "unknown option: --value"},
		{{"p", "second", "a"}, -1, "second", "unexpected word: a"},
		{{"p", "second", "--value"}, SECOND, "second", NULL},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct settings s = {0};
		struct err e = ERR_INIT;
		const struct option_command *c;
		char *argv[WORDS];
		int argc = copy_words(table[i].words, argv);
		cr_expect_eq(option_program_read(&program, argc, argv, &s, &c, &e), table[i].number, "row %zu: %s", i, e.message);
		cr_expect_str_eq(c ? c->name : "", table[i].command ? table[i].command : "", "row %zu", i);
		cr_expect_str_eq(e.message, table[i].message ? table[i].message : "", "row %zu", i);
	}
}

Test(options, as_many_words_as_there_is_room_for)
{
	static const struct option_command many = {.name = "many", .command = FIRST, .most = OPTION_WORDS - 1, .usage = "many", .help = ""};
	const struct option_program p = {.name = "p", .commands = &many, .command_count = 1, .options = program.options};
	for (int count = OPTION_WORDS - 2; count <= OPTION_WORDS; count++) {
		static char word[] = "x", name[] = "many";
		char *argv[OPTION_WORDS + 2] = {word, name};
		struct settings s = {0};
		const struct option_command *c;
		for (int i = 0; i < count; i++)
			argv[2 + i] = word;
		cr_expect_eq(option_program_read(&p, 2 + count, argv, &s, &c, NULL), count < OPTION_WORDS ? (int)FIRST : -1, "%d", count);
		cr_expect_eq(s.words.count, (size_t)(count < OPTION_WORDS ? count : OPTION_WORDS - 1));
	}
}

static void write_error(FILE *out)
{
	struct err e = ERR_INIT;
	err_set(&e, ERR_INVALID, 0, "no");
	options_print_error("p", NULL, &e, out);
	options_print_error("p", "first", &e, out);
}

Test(options, an_error_says_where_help_is)
{
	cr_expect_str_eq(written(write_error), "p: no (see p --help)\np: no (see p first --help)\n");
}

static const char *const *asked;
static const char *others;

static void write_completion(FILE *out)
{
	char *argv[WORDS + 2];
	int argc = 0;
	for (; asked[argc]; argc++)
		memcpy(&argv[argc], &asked[argc], sizeof *argv);
	others = option_program_complete(&program, argc, argv, out);
}

Test(options, completion)
{
	static const struct {
		const char *words[WORDS + 2], *offered, *others;
	} table[] = {
		{{"p", "--complete"}, "first\nsecond\n--help\n--version\n", NULL},
		{{"p", "--complete", "s"}, "second\n", NULL},
		{{"p", "--complete", "x", "y"}, "", NULL},
		{{"p", "--complete", "first", ""}, "", ":processes"},
		{{"p", "--complete", "second", ""}, "bash\nzsh\n", NULL},
		{{"p", "--complete", "second", "z"}, "zsh\n", NULL},
		{{"p", "--complete", "first", "--n"}, "--number\n--no-off\n", NULL},
		{{"p", "--complete", "second", "--v"}, "--value\n", NULL},
		{{"p", "--complete", "first", "-t", "t"}, "two\n", NULL},
		{{"p", "--complete", "first", "--word", ""}, "Auto\nExact\nNoCollection\n", NULL},
		{{"p", "--complete", "first", "--number", ""}, "", NULL},
		{{"p", "--complete", "first", "--place", "x"}, "", ":files"},
		{{"p", "--complete", "first", "--maybe", "--e"}, "--end\n", NULL},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		asked = table[i].words;
		cr_expect_str_eq(written(write_completion), table[i].offered, "row %zu", i);
		cr_expect(others == table[i].others || (others && table[i].others && strcmp(others, table[i].others) == 0), "row %zu", i);
	}
}
