/* JSON at the edge (over jansson): parse bounded text, then read fields with errors that name the path
 * ("spec.durationSeconds: expected an integer"). Results are turned into small typed structs at once; json_t does not
 * travel through the program. Any thread; one document belongs to one thread. */
#ifndef DRDOTNET_JSONX_H
#define DRDOTNET_JSONX_H

#include "common/base/buf.h"
#include "common/base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

static inline void cleanup_json(json_t **j)
{
	if (*j)
		json_decref(*j);
}
#define AUTO_JSON __attribute__((cleanup(cleanup_json)))

/* Parses text into a new reference. Duplicate keys, trailing bytes, depth > 64 and invalid UTF-8 are refused
 * (ERR_PROTOCOL, with line and column). `what` names the document in messages. */
json_t *jsonx_parse(const char *text, size_t len, const char *what, struct err *e);

/* Dumps compactly into a new string (free it); a document larger than max_bytes gives NULL with ERR_INVALID. */
char *jsonx_dump(const json_t *doc, size_t max_bytes, struct err *e);

/* Field access. `path` is the object's own path for messages ("spec.target", "" for the root). `obj` may be NULL (an
 * absent object): then every optional read gives its default. A field that is JSON null counts as absent.
 * Required reads fail with ERR_INVALID "path.key: required" or "path.key: expected a string". Strings are borrowed from the document. */
int jsonx_object(const json_t *obj, const char *path, const char *key, bool required, const json_t **out, struct err *e);
int jsonx_array(const json_t *obj, const char *path, const char *key, bool required, const json_t **out, struct err *e);
int jsonx_string(const json_t *obj, const char *path, const char *key, bool required, const char **out, struct err *e); /* absent: *out unchanged */
/* absent: unchanged; outside: "must be between" */
int jsonx_int(const json_t *obj, const char *path, const char *key, bool required, int64_t least, int64_t most, int64_t *out, struct err *e);
int jsonx_bool(const json_t *obj, const char *path, const char *key, bool required, bool *out, struct err *e);

/* Fails with ERR_INVALID "path.key: unknown field" (and the known ones) when obj has a key that is not in the NULL-ended list. */
int jsonx_only_keys(const json_t *obj, const char *path, const char *const *known, struct err *e);

/* Lenient reads for what others wrote: the string or the default, no error. Dotted path from obj: "metadata.name". */
const char *jsonx_str_at(const json_t *obj, const char *dotted, const char *otherwise);
int64_t jsonx_int_at(const json_t *obj, const char *dotted, int64_t otherwise);
const json_t *jsonx_at(const json_t *obj, const char *dotted); /* borrowed or NULL */
char *jsonx_dup_at(const json_t *obj, const char *dotted);     /* a new string or NULL */
void jsonx_copy_at(const json_t *obj, const char *dotted, char *out, size_t size); /* cut to size; "" when it is not there */
int64_t jsonx_time_at(const json_t *obj, const char *dotted); /* RFC 3339, as milliseconds since the Unix epoch; 0 when it is none */

#endif
