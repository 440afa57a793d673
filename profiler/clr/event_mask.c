/* Context: CLR callback (the attach) and own thread. */
#include "profiler/clr/event_mask.h"

static uint32_t now_low, now_high;

hresult event_mask_reset(void *info, uint32_t low, uint32_t high)
{
	hresult hr = info_set_event_mask2(info, low, high);

	if (hr >= 0) {
		now_low = low;
		now_high = high;
	}
	return hr;
}

hresult event_mask_add(void *info, uint32_t low, uint32_t high)
{
	return event_mask_reset(info, now_low | low, now_high | high);
}

hresult event_mask_remove(void *info, uint32_t low, uint32_t high)
{
	return event_mask_reset(info, now_low & ~low, now_high & ~high);
}
