/* The rules of SlowRequests that judge what threads did while they worked for requests. Part of request_rules.c. Pure; any thread. */
#ifndef DRDOTNET_REQUEST_WORK_RULES_H
#define DRDOTNET_REQUEST_WORK_RULES_H

#include "agent/report/rules.h"

const char *request_work_needs_windows(const void *numbers);
const char *request_work_needs_waits(const void *numbers);
const char *request_work_needs_samples(const void *numbers);

struct rule_score request_work_locks(const void *numbers);
void request_work_says_locks(const void *numbers, struct finding *out);
struct rule_score request_work_tasks(const void *numbers);
void request_work_says_tasks(const void *numbers, struct finding *out);
struct rule_score request_work_io(const void *numbers);
void request_work_says_io(const void *numbers, struct finding *out);
struct rule_score request_work_gc(const void *numbers);
void request_work_says_gc(const void *numbers, struct finding *out);
struct rule_score request_work_no_cpu(const void *numbers);
void request_work_says_no_cpu(const void *numbers, struct finding *out);
struct rule_score request_work_first(const void *numbers);
void request_work_says_first(const void *numbers, struct finding *out);

#endif
