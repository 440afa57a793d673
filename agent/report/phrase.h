/* Figures and widths that the texts of all reports share. Pure; any thread. */
#ifndef DRDOTNET_PHRASE_H
#define DRDOTNET_PHRASE_H

#include "common/base/buf.h"

#include <stddef.h>
#include <stdint.h>

#define PHRASE_NAME_CHARS 110 /* of a name in a line of its own text */

size_t phrase_chars(const char *s); /* code points of UTF-8 */

void phrase_duration(struct buf *out, int64_t ns); /* appends "310 us", "1.24 ms", "84.0 ms", "1.24 s" */

void phrase_percent(struct buf *out, double percent); /* appends "84%", "3.4%", "0.05%" */

void phrase_rate(struct buf *out, double per_second); /* appends "12,300", "41", "3.3", "0.05" */

#endif
