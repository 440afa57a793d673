/* Context: any. */
#include "profiler/requests/activity_path.h"

#include <string.h>

#define PREFIX 0xb
#define ONE_BYTE 0xc

struct activity_path activity_path_of(const uint8_t *id)
{
	struct activity_path p = {0, 0};

	if (id) {
		memcpy(&p.high, id, sizeof p.high);
		memcpy(&p.low, id + sizeof p.high, sizeof p.low);
	}
	return p;
}

static unsigned half_at(const uint8_t *bytes, unsigned half)
{
	return half & 1 ? bytes[half / 2] & 15u : bytes[half / 2] >> 4;
}

/* Where the number at `half` ends. */
static unsigned number_end(const uint8_t *bytes, unsigned half)
{
	unsigned code = half_at(bytes, half);

	if (code == PREFIX && half + 1 < 2 * ACTIVITY_PATH_BYTES)
		code = half_at(bytes, ++half);
	if (code < ONE_BYTE)
		return half + 1;
	return (half / 2 + 1 + (code - ONE_BYTE + 1)) * 2;
}

bool activity_path_parent(struct activity_path *p)
{
	uint8_t bytes[ACTIVITY_PATH_BYTES];
	unsigned at = 0, last = 0;

	memcpy(bytes, &p->high, sizeof p->high);
	memcpy(bytes + sizeof p->high, &p->low, sizeof p->low);
	while (at < 2 * ACTIVITY_PATH_BYTES && half_at(bytes, at)) {
		last = at;
		at = number_end(bytes, at);
	}
	if (last == 0)
		return false;
	if (last & 1)
		bytes[last / 2] &= 0xf0;
	memset(bytes + (last + 1) / 2, 0, sizeof bytes - (last + 1) / 2);
	memcpy(&p->high, bytes, sizeof p->high);
	memcpy(&p->low, bytes + sizeof p->high, sizeof p->low);
	return true;
}
