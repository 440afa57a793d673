/* How sessions ended, as the metric drdotnet_sessions_total. Any thread. */
#ifndef DRDOTNET_SESSION_COUNTS_H
#define DRDOTNET_SESSION_COUNTS_H

/* Begins the counts that alerts look at with 0: of a counter that begins with its first event, Prometheus' increase() does not see that event. */
void session_counts_begin(void);

void session_counts_ended(const char *reason);

#endif
