/* Whose answer requests wait for while nothing tells what they await: of the looks at which one waited so, those at which such an other end of a connection
 * owed an answer to what was sent since the wait began, or just before it. Pure; one thread. */
#ifndef DRDOTNET_REQUEST_PEER_MATCH_H
#define DRDOTNET_REQUEST_PEER_MATCH_H

#include "agent/profilers/requests/request_bill.h"
#include "agent/profilers/requests/request_log.h"

enum peer_wait { PEER_AWAIT, PEER_BLOCKED, PEER_WAITS }; /* no thread works for the request; its thread is blocked, by a call that nothing tells of */

struct peer_sums { /* of one other end; looks: at one request each */
	uint64_t looks[PEER_WAITS];
	uint64_t alone;    /* of all these, those at which no other one owed an answer like that */
	uint64_t waits;    /* that were seen so */
	uint64_t ns;       /* of them */
	uint64_t answered; /* of them, those in which something came from it */
	uint64_t told;     /* of those of PEER_AWAIT, those of which it is known whether something came just before they ended ... */
	uint64_t ended;    /* ... and it did */
	uint64_t before;   /* looks in them, long before they ended, that tell the same ... */
	uint64_t came;     /* ... and just before which something came */
};

struct peer_match { /* of some requests */
	uint64_t looks[PEER_WAITS]; /* at one that waits */
	uint64_t waits[PEER_WAITS]; /* however short */
	size_t peer;                /* the one with most looks; SIZE_MAX: none */
	struct peer_sums sums;      /* its */
};
/* `l`: its trail is sorted. */
void request_peer_match(const struct request_log *l, const struct request_work *w, const struct request_slowest *requests, struct peer_match *out);
/* Of all that: looks at waits for that one. */
uint64_t request_peer_looks(const struct peer_match *m);
/* The time of these requests, of which `b` is the bill, that waits for it are: of one kind. */
double request_peer_match_ns(const struct peer_match *m, const struct request_bill *b, enum peer_wait kind);

/* Percent of these waits that ended as something came from it; of the looks long before, those at which something had just come. NAN: too few to tell. */
double request_peer_ended_percent(const struct peer_match *m);
double request_peer_came_percent(const struct peer_match *m);
/* By these: the requests go on at other times than those at which something comes from it, or at any. */
bool request_peer_goes_on_without(double ended_percent, double came_percent);

struct peer_contrast { /* what one other end does in the whole session */
	uint64_t idle_looks, idle_owes; /* while no request was in flight; of them, it owed an answer to what was sent no longer before than these waits take */
	uint64_t waits;                 /* of all requests, with no thread, while `asked` was counted */
	uint64_t asked;                 /* segments that were sent to it */
};
void request_peer_contrast(const struct request_log *l, const struct peer_match *m, struct peer_contrast *out);
/* Percent of these looks at which it owed one; NAN: too few to tell. */
double request_peer_idle_percent(const struct peer_contrast *c);
/* Of the looks at the waits, those at which it owed one. */
double request_peer_owes_percent(const struct peer_match *m);
/* By these: others ask it all the time, also while there is no request. */
bool request_peer_owes_anyway(double idle_percent, double owes_percent);

#endif
