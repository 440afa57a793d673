/* Clocks. Pure functions take the time as an argument; only the loops at the edge call these. Any thread. */
#ifndef DRDOTNET_CLOCK_H
#define DRDOTNET_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t clock_mono_ms(void);
int64_t clock_mono_ns(void);
int64_t clock_wall_ms(void); /* since the Unix epoch */

/* Kubernetes' metav1.Time and MicroTime, UTC: "2026-11-21T08:50:32Z" and "2026-11-21T08:50:32.123456Z". */
#define CLOCK_RFC3339_SIZE 32
const char *clock_rfc3339(int64_t wall_ms, char out[CLOCK_RFC3339_SIZE]);
const char *clock_rfc3339_micro(int64_t wall_us, char out[CLOCK_RFC3339_SIZE]);

/* Reads RFC 3339 (with or without fraction, Z or an offset). Returns 0, or -1 when it is malformed. */
int clock_parse_rfc3339(const char *s, int64_t *wall_ms);

/* `first_ms`, doubled so many times, and `most_ms` at most: how long to wait after failures. Pure. */
int64_t clock_doubled_ms(int64_t first_ms, int64_t most_ms, int64_t times);

/* Sleeps until the monotonic time, or returns at once when it has passed. Restarts after signals. */
void clock_sleep_until_ms(int64_t mono_ms);

#endif
