/* What the rules of SlowRequests judge. Pure; any thread. */
#ifndef DRDOTNET_REQUEST_NUMBERS_H
#define DRDOTNET_REQUEST_NUMBERS_H

#include "agent/profilers/requests/request_analysis.h"
#include "agent/report/rules.h"

/* lost_percent: of the requests that the runtime told of, those that could not be followed. top_*: of the endpoint whose users waited most; percent: of all
 * waiting. open_*: of the endpoint whose oldest request in flight is oldest; done: requests of it that ended. error_*: of the endpoint with most failures.
 * calls_*: of the endpoint whose slowest requests make most calls of one kind each; call_*: of the one whose slowest requests wait most for calls of one kind;
 * blocked_*: of the one whose threads work or block most while a call is under way. percent: of the time of those requests; share: of all waiting, the
 * endpoint's. told_percent: of the time that the slowest requests of all endpoints were on a
 * thread, that of which it is known what the thread did. lock_*, task_*, io_*, gc_*, no_cpu_*: of the endpoint whose slowest requests lose most time so.
 * lock_looks: at the runtime's monitors that found this one held while others waited; task_call_percent: of the time blocked on tasks, that during a call;
 * gc_cpu_percent: of the process's samples of CPU time, those of collections; throttled_percent: of the periods of the container's CPU quota; first_*: of the
 * endpoint whose first request in the session took most longer than half of the others; samples: of it; jit: of those, in the compiler. pool_*: of the
 * endpoint whose slowest requests wait most for connections of HTTP; waits: of all requests for one to that host; opened_percent, failed_percent: of these
 * waits, that many connections were made; of the calls to it, failed. anew_*: the same of making connections, with look-ups and handshakes, to a host with at
 * least one connection opened for two calls. await_*: of the endpoint whose slowest requests await most that nothing tells of, while work waits in the
 * thread pool's queue if any do; queue_*: items in it at the looks at which they await (met); workers_blocked_percent: of its workers that had work
 * then; where too few looks met such requests both are of all of the session; blocker_*: the method in which they block most;
 * percent: of the time that they block. gate_*: of the endpoint whose slowest requests wait most, untold, just before a command of a database while as many
 * run as ever do (width). unanswered_*: connections whose clients wait since
 * before the session. client_*: of the endpoint whose slowest requests wait most until their clients take the response; bytes: of one of them, that went out
 * meanwhile; window_percent: of that time, in which the client had no room for more. one_*: of the endpoint with several clients that waits most for one of
 * them; percent: of the requests whose client was told (one_told); others: addresses beside it. peer_*: of the endpoint whose slowest requests wait most
 * while the other end of a connection that the process has made owes an answer, and nothing tells what they wait for; blocked: with a thread; looks: at one
 * such request each; alone: of these, those at which no other one owed one; answered: of such waits, those in which something came; ended: of such
 * waits, those just before whose end something came; came: of looks long before their ends, those just before which something did; waits_each: in a
 * request, for whatever; asked_each: segments that were sent, for each await of any request; owes: of the looks at these requests' waits; idle: of those at
 * which no request was in flight, those at which it owed an answer to what was sent no longer before than the waits take; port_of, client: what kind of
 * server is at such a port, and whose client the threads
 * of these requests were in. */
#define REQUEST_NUMBERS(NUMBER, TEXT)                                                                                                              \
	NUMBER(seconds) NUMBER(requests) NUMBER(per_second) NUMBER(lost_percent) NUMBER(p50_ms) NUMBER(p95_ms) NUMBER(p99_ms) NUMBER(longest_ms)    \
	NUMBER(top_percent) NUMBER(top_per_second) NUMBER(top_p50_ms) NUMBER(top_p95_ms) NUMBER(top_p99_ms)                                         \
	NUMBER(in_flight) NUMBER(open_count) NUMBER(open_oldest_s) NUMBER(open_p99_s) NUMBER(open_done)                                            \
	NUMBER(status_percent) NUMBER(error_percent) NUMBER(error_endpoint_percent) NUMBER(error_count)                                            \
	NUMBER(window_percent)                                                                                                                     \
	NUMBER(calls_each) NUMBER(calls_percent) NUMBER(calls_share) NUMBER(calls_requests) NUMBER(calls_ms)                                       \
	NUMBER(call_each) NUMBER(call_percent) NUMBER(call_share) NUMBER(call_requests) NUMBER(call_ms)                                            \
	NUMBER(blocked_percent) NUMBER(blocked_share) NUMBER(blocked_requests) NUMBER(blocked_ms)                                                  \
	NUMBER(told_percent)                                                                                                                       \
	NUMBER(lock_percent) NUMBER(lock_share) NUMBER(lock_requests) NUMBER(lock_ms) NUMBER(lock_looks)                                           \
	NUMBER(task_percent) NUMBER(task_share) NUMBER(task_requests) NUMBER(task_ms) NUMBER(task_call_percent)                                    \
	NUMBER(io_percent) NUMBER(io_share) NUMBER(io_requests) NUMBER(io_ms)                                                                      \
	NUMBER(gc_percent) NUMBER(gc_share) NUMBER(gc_requests) NUMBER(gc_ms) NUMBER(gc_cpu_percent)                                               \
	NUMBER(no_cpu_percent) NUMBER(no_cpu_share) NUMBER(no_cpu_requests) NUMBER(no_cpu_ms) NUMBER(throttled_percent)                            \
	NUMBER(pool_percent) NUMBER(pool_share) NUMBER(pool_requests) NUMBER(pool_ms) NUMBER(pool_waits) NUMBER(pool_opened_percent)               \
	NUMBER(pool_failed_percent) NUMBER(anew_percent) NUMBER(anew_share) NUMBER(anew_requests) NUMBER(anew_ms) NUMBER(anew_opened)              \
	NUMBER(anew_calls) NUMBER(await_percent) NUMBER(await_share) NUMBER(await_requests) NUMBER(await_ms)                                       \
	NUMBER(await_per_second)                                                                                                                   \
	NUMBER(queue_looks) NUMBER(queue_met) NUMBER(queue_mean) NUMBER(queue_most) NUMBER(workers_blocked_percent)                                \
	NUMBER(gate_percent) NUMBER(gate_share) NUMBER(gate_requests) NUMBER(gate_ms) NUMBER(gate_waits) NUMBER(gate_width)                        \
	TEXT(gate_endpoint) TEXT(gate_what)                                                                                                        \
	NUMBER(blocker_percent) TEXT(blocker_place) TEXT(blocker_what)                                                                             \
	NUMBER(client_percent) NUMBER(client_share) NUMBER(client_requests) NUMBER(client_ms) NUMBER(client_bytes) NUMBER(client_window_percent)     \
	NUMBER(one_percent) NUMBER(one_share) NUMBER(one_requests) NUMBER(one_told) NUMBER(one_others) NUMBER(one_p95_ms)                          \
	TEXT(client_endpoint) TEXT(one_endpoint)                                                                                                   \
	NUMBER(peer_percent) NUMBER(peer_blocked_percent) NUMBER(peer_share) NUMBER(peer_requests) NUMBER(peer_ms) NUMBER(peer_looks)               \
	NUMBER(peer_alone_percent) NUMBER(peer_answered_percent) NUMBER(peer_waits_each) NUMBER(peer_asked_each) NUMBER(peer_owes_percent)         \
	NUMBER(peer_idle_percent) NUMBER(peer_ended_percent) NUMBER(peer_came_percent) TEXT(peer_endpoint) TEXT(peer_name)                         \
	TEXT(peer_port_of) TEXT(peer_client)                                                                                                       \
	NUMBER(unanswered_count) NUMBER(unanswered_oldest_s)                                                                                       \
	TEXT(pool_endpoint) TEXT(pool_what) TEXT(anew_endpoint) TEXT(anew_what) TEXT(await_endpoint)                                               \
	NUMBER(first_ms) NUMBER(first_p50_ms) NUMBER(first_samples) NUMBER(first_jit_percent)                                                      \
	TEXT(lock_endpoint) TEXT(lock_place) TEXT(lock_what) TEXT(lock_holder) TEXT(task_endpoint) TEXT(task_place)                                \
	TEXT(io_endpoint) TEXT(io_place) TEXT(io_what) TEXT(gc_endpoint) TEXT(no_cpu_endpoint) TEXT(first_endpoint)                                \
	TEXT(top_endpoint) TEXT(open_endpoint) TEXT(error_endpoint) TEXT(calls_endpoint) TEXT(calls_what) TEXT(call_endpoint) TEXT(call_what)       \
	TEXT(blocked_endpoint) TEXT(blocked_what)
RULE_STRUCT(request_numbers, REQUEST_NUMBERS);

void request_numbers_of(const struct request_analysis *a, struct request_numbers *out);

extern const struct rule request_rules[];
extern const size_t request_rule_count;

#endif
