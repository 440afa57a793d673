/* The shapes of paths that were met, each with a small number: 0 stands for all that found no room. Where more than SHAPE_SIBLINGS shapes differ in one word
 * only, that word is a value and no part of a route: later ones are folded there. No thread waits for another one. */
#ifndef DRDOTNET_SHAPE_TABLE_H
#define DRDOTNET_SHAPE_TABLE_H

#include "profiler/requests/path_shape.h"

#define SHAPE_ROUTES_MOST 1000
#define SHAPE_TABLE_MOST 1400 /* with those of calls */
#define SHAPE_SIBLINGS 20

/* CLR callback. The shape's number; of a call, no word of which is folded. */
uint32_t shape_table_intern(struct path_shape *s);
uint32_t shape_table_intern_call(const struct path_shape *s);
#define SHAPE_TEMPLATES UINT32_MAX /* it is of several */
/* A request of the first shape was of the second, which names its route's parameters; itself: the route has none. */
void shape_table_note_template(uint32_t number, uint32_t template);

/* A request of the shape had that path, of which its route took these values (route_values.h): notes the template that they make of it. */
void shape_table_note_route(uint32_t number, const struct event_text *path, const struct event_text *route);

/* Own thread. */
void shape_table_reset(void);   /* while nobody interns */
uint32_t shape_table_count(void); /* numbers 1 to this one are given */
/* Any context. NULL: not there yet; nothing has that number yet either */
const char *shape_table_text(uint32_t number, uint16_t *len);
uint32_t shape_table_template(uint32_t number); /* 0: not told; SHAPE_TEMPLATES */

#endif
