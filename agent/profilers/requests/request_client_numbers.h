/* What the rules judge of the clients of requests. Part of request_numbers.c. Pure. */
#ifndef DRDOTNET_REQUEST_CLIENT_NUMBERS_H
#define DRDOTNET_REQUEST_CLIENT_NUMBERS_H

#include "agent/profilers/requests/request_numbers.h"

void request_client_numbers_of(const struct request_analysis *a, struct request_numbers *out);

#endif
