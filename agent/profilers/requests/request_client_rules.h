/* The rules of SlowRequests that judge the clients of requests. Part of request_rules.c. Pure; any thread. */
#ifndef DRDOTNET_REQUEST_CLIENT_RULES_H
#define DRDOTNET_REQUEST_CLIENT_RULES_H

#include "agent/report/rules.h"

struct rule_score request_client_reads(const void *numbers);
void request_client_says_reads(const void *numbers, struct finding *out);
const char *request_client_needs_addresses(const void *numbers);
struct rule_score request_client_one(const void *numbers);
void request_client_says_one(const void *numbers, struct finding *out);

#endif
