/* Kubernetes' resource quantities ("500m", "1.5", "128Mi", "1e3"), apimachinery's resource.Quantity, in thousandths. Pure; any thread. */
#ifndef DRDOTNET_QUANTITY_H
#define DRDOTNET_QUANTITY_H

#include <stdint.h>

/* Thousandths of the quantity, rounded up as the API server does; what is larger than INT64_MAX is INT64_MAX. -1: no quantity, or a negative one. */
int64_t quantity_parse_milli(const char *text);

#endif
