/* Writes JSON (RFC 8259) piece by piece into a buffer: commas, quotes and braces are its own, so that what is written is well-formed
 * whatever it is made of. One object or array is open at a time, inside of those opened before it.
 *
 *   struct json_writer w = jsonw_on(&text);
 *   jsonw_object(&w, NULL);              {
 *   jsonw_integer(&w, "objects", 12);      "objects":12
 *   jsonw_array(&w, "names");              ,"names":[
 *   jsonw_string(&w, NULL, "a");             "a"
 *   jsonw_end(&w);                         ]
 *   jsonw_end(&w);                       }
 *
 * `key`: the member's name, of ours (letters, digits and what needs no escape); NULL in an array and for the outermost value. Failures are the
 * buffer's (buf.full). One thread. */
#ifndef DRDOTNET_JSON_WRITER_H
#define DRDOTNET_JSON_WRITER_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_WRITER_DEPTH 32

struct json_writer {
	struct buf *out;
	uint32_t arrays;  /* a bit for each level that is open: an array; the lowest bit is the innermost */
	unsigned depth;
	bool filled;      /* what is open has something already: a comma comes first */
	bool line;        /* the next value begins a line */
};

/* Writes to the end of `out`, which stays the caller's. */
struct json_writer jsonw_on(struct buf *out);

/* The next value stands on a line of its own: for people who read the file. */
void jsonw_line(struct json_writer *w);

void jsonw_object(struct json_writer *w, const char *key);
void jsonw_array(struct json_writer *w, const char *key);
void jsonw_end(struct json_writer *w); /* of the innermost object or array */

void jsonw_string(struct json_writer *w, const char *key, const char *value); /* text_append_json(); NULL: null */
void jsonw_text(struct json_writer *w, const char *key, const char *value, size_t len);
void jsonw_integer(struct json_writer *w, const char *key, int64_t value);
void jsonw_unsigned(struct json_writer *w, const char *key, uint64_t value); /* also the fastest, for long arrays */
void jsonw_number(struct json_writer *w, const char *key, double value, int decimals); /* infinite or no number: null */
void jsonw_bool(struct json_writer *w, const char *key, bool value);
void jsonw_null(struct json_writer *w, const char *key);
void jsonw_known(struct json_writer *w, const char *key, int64_t value); /* negative (not known): null */

#endif
