/* The library's variables, begun anew by each session. glibc unmaps a library when its session has ended; musl unmaps none, and its next session
 * finds the one that is there, with all that the last one wrote. One in a build for sanitizers is as it was left.
 * Context: CLR callback of the attach and of the detach, with no other thread in the library. */
#ifndef DRDOTNET_OWN_STATICS_H
#define DRDOTNET_OWN_STATICS_H

/* A variable that outlives sessions. It has a value from the beginning (zero, for one). */
#define OWN_KEPT __attribute__((section("own_kept")))

void own_statics_renew(void);
/* Gives the memory of the tables back: their content, zeroes, is a beginning for all of them. */
void own_statics_release(void);

#endif
