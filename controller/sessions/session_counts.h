/* How sessions ended, as the metric drdotnet_sessions_total. Any thread. */
#ifndef DRDOTNET_SESSION_COUNTS_H
#define DRDOTNET_SESSION_COUNTS_H

/* Begins the counts that alerts look at with 0: of a counter that begins with its first event, Prometheus' increase() does not see that event. */
void session_counts_begin(void);

/* `waited_for`: the reason of the condition Running at the end, see reason_fault(). */
void session_counts_ended(const char *reason, const char *waited_for);

#endif
