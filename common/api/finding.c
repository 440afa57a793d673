#include "common/api/finding.h"

#include "common/base/buf.h"
#include "common/base/jsonx.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#define STATES 4

static const char *const state_names[STATES] = {"Found", "Possible", "Excluded", "NotMeasured"};

bool finding_is_harm(const char *id)
{
	return strcmp(id, "Idle") != 0;
}

const char *finding_state_name(enum finding_state s)
{
	return state_names[s];
}

static void put_finding_text(char *out, size_t size, const char *text)
{
	size_t n = text_cut_utf8(text, size - 1);
	memcpy(out, text, n);
	out[n] = '\0';
}

static void print_finding_text(char *out, size_t size, const char *format, va_list args)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 8192);
	buf_vprintf(&text, format, args);
	put_finding_text(out, size, buf_str(&text));
}

void finding_message(struct finding *f, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	print_finding_text(f->message, sizeof f->message, format, args);
	va_end(args);
}

void finding_evidence(struct finding *f, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	print_finding_text(f->evidence, sizeof f->evidence, format, args);
	va_end(args);
}

bool finding_excluded(struct finding *f, const char *message, const char *evidence, ...)
{
	va_list args;
	if (f->state != FINDING_EXCLUDED)
		return false;
	finding_message(f, "%s", message);
	va_start(args, evidence);
	print_finding_text(f->evidence, sizeof f->evidence, evidence, args);
	va_end(args);
	return true;
}

void finding_evidence_also(struct finding *f, const char *format, ...)
{
	AUTO_BUF struct buf all;
	va_list args;
	buf_init(&all, 8192);
	if (f->evidence[0])
		buf_printf(&all, "%s; ", f->evidence);
	va_start(args, format);
	buf_vprintf(&all, format, args);
	va_end(args);
	put_finding_text(f->evidence, sizeof f->evidence, buf_str(&all));
}

void finding_place(struct finding *f, const char *place)
{
	put_finding_text(f->place, sizeof f->place, place);
}

struct finding *findings_copy(const struct finding *list, size_t count)
{
	if (!count)
		return NULL;
	struct finding *copy = mem_calloc(count, sizeof *copy);
	memcpy(copy, list, count * sizeof *copy);
	return copy;
}

/* Names in them come from the process: bytes that are no UTF-8 become U+FFFD. */
static void put_finding_member(json_t *obj, const char *key, const char *text)
{
	AUTO_BUF struct buf clean;
	buf_init(&clean, 4 * FINDING_EVIDENCE_SIZE);
	text_append_printable(&clean, text, strlen(text));
	if (clean.len)
		json_object_set_new(obj, key, json_string(buf_str(&clean)));
}

json_t *findings_to_json(const struct finding *list, size_t count)
{
	json_t *array = json_array();
	for (size_t i = 0; i < count && json_array_size(array) < FINDINGS_REPORTED; i++) {
		if (list[i].state != FINDING_FOUND && list[i].state != FINDING_POSSIBLE)
			continue;
		json_t *obj = json_pack("{s:s, s:s, s:i}", "id", list[i].id, "state", finding_state_name(list[i].state), "score", list[i].score);
		put_finding_member(obj, "message", list[i].message);
		put_finding_member(obj, "evidence", list[i].evidence);
		put_finding_member(obj, "place", list[i].place);
		json_array_append_new(array, obj);
	}
	return array;
}

/* "RetryStorm", and of users' own rules "user/SlowCache". */
static int read_finding_id(const json_t *obj, char *out, size_t size)
{
	const char *id = jsonx_str_at(obj, "id", "");
	size_t n = strlen(id);
	for (size_t i = strncmp(id, "user/", 5) == 0 ? 5 : 0; i < n; i++)
		if (!isalnum((unsigned char)id[i]))
			return -1;
	if (n == 0 || n >= size || id[n - 1] == '/')
		return -1;
	memcpy(out, id, n + 1);
	return 0;
}

static int read_finding(const json_t *obj, struct finding *out)
{
	const char *state = jsonx_str_at(obj, "state", "");
	int64_t score = jsonx_int_at(obj, "score", 0);
	*out = (struct finding){.state = strcmp(state, state_names[FINDING_POSSIBLE]) == 0 ? FINDING_POSSIBLE : FINDING_FOUND, .score = (int)score};
	if (strcmp(state, state_names[out->state]) != 0 || score < 1 || score > 100 || read_finding_id(obj, out->id, sizeof out->id) < 0)
		return -1;
	put_finding_text(out->message, sizeof out->message, jsonx_str_at(obj, "message", ""));
	put_finding_text(out->evidence, sizeof out->evidence, jsonx_str_at(obj, "evidence", ""));
	put_finding_text(out->place, sizeof out->place, jsonx_str_at(obj, "place", ""));
	return 0;
}

size_t findings_from_json(const json_t *array, struct finding *list)
{
	size_t count = 0;
	for (size_t i = 0; i < json_array_size(array) && count < FINDINGS_REPORTED; i++)
		count += read_finding(json_array_get(array, i), &list[count]) == 0;
	return count;
}
