#include "agent/diag/diag_environment.h"

#include <string.h>

static int malformed_environment(struct err *e)
{
	return err_set(e, ERR_PROTOCOL, 0, "the runtime's description of its environment is malformed");
}

int diag_environment_init(struct diag_environment *x, uint32_t size, struct err *e)
{
	*x = (struct diag_environment){.missing = size};
	buf_init(&x->kept, DIAG_ENVIRONMENT_KEPT_MAX);
	buf_init(&x->variable, DIAG_ENVIRONMENT_VALUE_MAX);
	if (size < sizeof x->word || size > DIAG_ENVIRONMENT_MAX)
		return err_set(e, ERR_PROTOCOL, 0, "the runtime announces an environment of %u bytes", (unsigned)size);
	return 0;
}

void diag_environment_fini(struct diag_environment *x)
{
	buf_fini(&x->kept);
	buf_fini(&x->variable);
}

static bool of_the_runtime(const char *variable)
{
	static const char *const prefixes[] = {"CORECLR_", "DOTNET_", "COMPlus_"};
	for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
		if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

static void end_variable(struct diag_environment *x)
{
	if (of_the_runtime(buf_str(&x->variable)))
		buf_append(&x->kept, x->variable.data, x->variable.len + 1); /* a full one takes no more */
	buf_reset(&x->variable);
	x->ended = false;
	x->variables--;
	x->at = x->variables > 0 ? DIAG_ENVIRONMENT_LENGTH : DIAG_ENVIRONMENT_END;
}

static void take_unit(struct diag_environment *x, uint32_t unit)
{
	x->ended = x->ended || unit == 0;
	if (!x->ended)
		buf_putc(&x->variable, unit < 0x80 ? (char)unit : '?'); /* a full one is cut */
	if (--x->units == 0)
		end_variable(x);
}

/* A whole number or unit. -1: it promises more than the block still has. */
static int consume_word(struct diag_environment *x, uint32_t word)
{
	switch (x->at) {
	case DIAG_ENVIRONMENT_COUNT:
		x->variables = word;
		x->at = word > 0 ? DIAG_ENVIRONMENT_LENGTH : DIAG_ENVIRONMENT_END;
		return word <= x->missing / 4 ? 0 : -1;
	case DIAG_ENVIRONMENT_LENGTH:
		x->units = word;
		x->at = DIAG_ENVIRONMENT_UNITS;
		if (word == 0)
			end_variable(x);
		return word <= x->missing / 2 ? 0 : -1;
	case DIAG_ENVIRONMENT_UNITS:
		take_unit(x, word);
		return 0;
	default:
		return -1;
	}
}

static uint32_t little_endian(const uint8_t *bytes, size_t count)
{
	uint32_t v = 0;
	while (count-- > 0)
		v = v << 8 | bytes[count];
	return v;
}

int diag_environment_feed(struct diag_environment *x, const uint8_t *data, size_t len, struct err *e)
{
	if (len > x->missing)
		return malformed_environment(e);
	for (size_t i = 0; i < len; i++) {
		if (x->at == DIAG_ENVIRONMENT_END)
			return malformed_environment(e); /* something comes behind the last variable */
		size_t size = x->at == DIAG_ENVIRONMENT_UNITS ? 2 : 4;
		x->word[x->have++] = data[i];
		x->missing--;
		if (x->have < size)
			continue;
		x->have = 0;
		if (consume_word(x, little_endian(x->word, size)) < 0)
			return malformed_environment(e);
	}
	return x->missing > 0 || x->at == DIAG_ENVIRONMENT_END ? 0 : malformed_environment(e);
}
