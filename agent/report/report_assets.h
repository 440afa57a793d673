/* The fixed parts of report.html (agent/report/assets/), as they are in the source tree; embedded when this is built. */
#ifndef DRDOTNET_REPORT_ASSETS_H
#define DRDOTNET_REPORT_ASSETS_H

#include <stddef.h>

struct report_asset {
	const char *text; /* not NUL-terminated */
	size_t len;
};

/* Of all pages: the frame, its styles and script. */
struct report_asset report_asset_page(void);
struct report_asset report_asset_page_css(void);
struct report_asset report_asset_page_js(void);

/* Of one profiler: what stands below the diagnosis, and its script. */
struct report_asset report_asset_survivors(void);
struct report_asset report_asset_survivors_css(void);
struct report_asset report_asset_survivors_js(void);
struct report_asset report_asset_pauses(void);
struct report_asset report_asset_pauses_css(void);
struct report_asset report_asset_pauses_js(void);
struct report_asset report_asset_leak(void);

#endif
