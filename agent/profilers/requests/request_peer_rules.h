/* Servers whose clients tell of no calls, by what the kernel knows of connections: those of struct request_numbers that are of them, and the rules. Pure. */
#ifndef DRDOTNET_REQUEST_PEER_RULES_H
#define DRDOTNET_REQUEST_PEER_RULES_H

#include "agent/profilers/requests/request_numbers.h"

void request_peer_numbers_of(const struct request_analysis *a, struct request_numbers *out);

const char *request_peer_needs(const void *numbers);
struct rule_score request_peer_waits(const void *numbers);
void request_peer_says_waits(const void *numbers, struct finding *out);
struct rule_score request_peer_trips(const void *numbers);
void request_peer_says_trips(const void *numbers, struct finding *out);

#endif
