/* Bytes and counts for people. All append. Pure; any thread. */
#ifndef DRDOTNET_SIZE_TEXT_H
#define DRDOTNET_SIZE_TEXT_H

#include "common/base/buf.h"

#include <stdint.h>

/* Two or three digits and a decimal unit, as dotnet-counters has it: "0 bytes", "512 bytes", "3.4 kB", "412 MB", "1.3 GB". */
void size_text_bytes(struct buf *out, uint64_t bytes);

/* "1,000,000" */
void size_text_count(struct buf *out, uint64_t count);

/* The words that agree with a figure: `one` where it is 1 or reads "1.0", else `many`. */
const char *size_text_plural(double figure, const char *one, const char *many);

/* The count, a space, and the words that agree with it: "1 thread", "2,048 threads". */
void size_text_counted(struct buf *out, uint64_t count, const char *one, const char *many);

#endif
