/* Context: CLR callback (make) and own thread (prepare). */
#include "profiler/exceptions/message_shape.h"

#include "common/proto/difference.h"

#include <stdbool.h>
#include <string.h>

#define INDEX_BITS 11
#define INDEX_SIZE (1u << INDEX_BITS)
#define WORD_MAX 24

/* Lower case, sorted or not; a space between two. */
static const char words[] =
#include "profiler/exceptions/message_words.inc"
	;

static uint32_t word_index[INDEX_SIZE]; /* where in `words`, plus one; 0: free. Written once, before any thread reads it */

static WRAPS uint32_t word_hash(const char *word, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)word[i]) * 16777619u;
	return hash ^ hash >> 15;
}

static size_t known_length(uint32_t at)
{
	size_t len = 0;

	while (words[at + len] && words[at + len] != ' ')
		len++;
	return len;
}

void message_shape_prepare(void)
{
	memset(word_index, 0, sizeof word_index);
	for (uint32_t at = 0; words[at]; at += (uint32_t)known_length(at) + 1) {
		uint32_t slot = word_hash(words + at, known_length(at)) % INDEX_SIZE;
		while (word_index[slot])
			slot = (slot + 1) % INDEX_SIZE;
		word_index[slot] = at + 1;
	}
}

static bool is_known_word(const char *word, size_t len)
{
	for (uint32_t slot = word_hash(word, len) % INDEX_SIZE; word_index[slot]; slot = (slot + 1) % INDEX_SIZE) {
		uint32_t at = word_index[slot] - 1;
		if (known_length(at) == len && memcmp(words + at, word, len) == 0)
			return true;
	}
	return false;
}

struct message { /* being read */
	const uint8_t *data;
	size_t units, at;
};

static uint32_t message_unit(const struct message *m, size_t at)
{
	return at < m->units ? (uint32_t)(m->data[2 * at] | m->data[2 * at + 1] << 8) : 0;
}

static bool is_space(uint32_t c)
{
	return c <= ' ' || (c >= 0x7f && c <= 0xa0);
}

static bool is_letter(uint32_t c)
{
	return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static bool is_digit(uint32_t c)
{
	return c >= '0' && c <= '9';
}

/* The quote that ends what this one begins; 0: it is none. */
static uint32_t closing_quote(uint32_t c)
{
	switch (c) {
	case '\'':
	case '"':
	case '`':
		return c;
	case 0x2018:
		return 0x2019;
	case 0x201c:
		return 0x201d;
	case 0xab:
		return 0xbb;
	default:
		return 0;
	}
}

struct shape { /* being written */
	char *out;
	size_t len;
	bool full;
};

static char last_mask(const struct shape *s)
{
	return s->len && (s->out[s->len - 1] == '*' || s->out[s->len - 1] == '#') ? s->out[s->len - 1] : 0;
}

/* A word, or a mask, behind a space. Two masks in a row are one, '*' where either is. */
static void put_part(struct shape *s, const char *part, size_t len)
{
	bool mask = len == 1 && (part[0] == '*' || part[0] == '#');

	if (mask && last_mask(s)) {
		if (part[0] == '*')
			s->out[s->len - 1] = '*';
		return;
	}
	if (s->len + (s->len > 0) + len > MESSAGE_SHAPE_BYTES) {
		s->full = true;
		return;
	}
	if (s->len)
		s->out[s->len++] = ' ';
	memcpy(s->out + s->len, part, len);
	s->len += len;
}

/* Letters stay where they are a known word; what has a digit is a number or an identifier; all else is masked. */
static void put_token(struct shape *s, const struct message *m, size_t from, size_t to)
{
	char word[WORD_MAX], lower[WORD_MAX];
	size_t len = difference(to, from);
	bool letters = len <= WORD_MAX, digit = false, any = false;

	for (size_t i = from; i < to; i++) {
		uint32_t c = message_unit(m, i);
		digit |= is_digit(c);
		any |= is_digit(c) || is_letter(c) || c >= 0x80;
		letters = letters && is_letter(c);
		if (letters) {
			word[i - from] = (char)c;
			lower[i - from] = (char)(c | 32);
		}
	}
	if (letters && is_known_word(lower, len))
		put_part(s, word, len);
	else if (any)
		put_part(s, digit ? "#" : "*", 1);
}

static bool ends_token(uint32_t c)
{
	static const char ends[] = ".,:;!?()[]{}<>";

	for (size_t i = 0; i + 1 < sizeof ends; i++)
		if (c == (uint32_t)ends[i])
			return true;
	return is_space(c);
}

/* A quoted part is one mask, whatever is in it; without an end it is the rest. */
static void put_quoted(struct shape *s, struct message *m, uint32_t end)
{
	m->at++;
	while (m->at < m->units && message_unit(m, m->at) != end)
		m->at++;
	m->at++;
	put_part(s, "*", 1);
}

size_t message_shape_make(const uint8_t *utf16, size_t units, char out[MESSAGE_SHAPE_BYTES])
{
	struct message m = {.data = utf16, .units = units < MESSAGE_SHAPE_UNITS ? units : MESSAGE_SHAPE_UNITS};
	struct shape s = {.out = out};

	while (m.at < m.units && !s.full) {
		uint32_t c = message_unit(&m, m.at), quote = closing_quote(c);
		size_t from = m.at;
		if (quote) {
			put_quoted(&s, &m, quote);
			continue;
		}
		if (ends_token(c)) {
			m.at++;
			continue;
		}
		while (m.at < m.units && !ends_token(message_unit(&m, m.at)))
			m.at++;
		put_token(&s, &m, from, m.at);
	}
	return s.len;
}
