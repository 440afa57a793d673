/* The shape of a request's path: words of the route stay, what looks like a value (numbers, ids, names of files, anything that is not a plain word)
 * becomes {id}. So no value of a path leaves the process, and the number of shapes is that of routes. Pure; any context; bounded work whatever the path. */
#ifndef DRDOTNET_PATH_SHAPE_H
#define DRDOTNET_PATH_SHAPE_H

#include "profiler/requests/request_event.h"
#include "profiler/requests/route_values.h"

#define PATH_SHAPE_BYTES 160   /* with no NUL; printable ASCII */
#define PATH_SHAPE_SEGMENTS 12 /* and what comes after is one more: {more} */

struct path_shape {
	char text[PATH_SHAPE_BYTES];
	uint16_t len;
	uint8_t words; /* segments that stayed */
	struct {
		uint8_t at, len; /* in the text */
	} word[PATH_SHAPE_SEGMENTS];
};

/* `method` in front of it and a blank: "GET /orders/{id}". */
void path_shape_make(const struct event_text *method, const struct event_text *path, struct path_shape *out);
/* Of a path that is known to be no client's word, such as that of a method of gRPC: as it is. */
void path_shape_make_known(const struct event_text *method, const struct event_text *path, struct path_shape *out);
/* The same of a path of which routing took these values: they are {name of the parameter} there, and words beside them stay. The method is that of `of`, a
 * shape's text. */
void path_shape_make_routed(const char *of, size_t of_len, const struct event_text *path, struct route_values *values, struct path_shape *out);
/* Word number `i` becomes {name}; what has no room behind it is cut before the word that would be cut, and {name} itself where it has none. */
void path_shape_fold(struct path_shape *s, unsigned i);
/* Of the text with word `i` left out; `i` beyond the words: of all of it. Never 0. */
uint64_t path_shape_hash(const struct path_shape *s, unsigned i);

#endif
