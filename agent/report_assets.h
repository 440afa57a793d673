/* The fixed parts of report.html (agent/report_assets/), as they are in the source tree; embedded when this is built. */
#ifndef DRDOTNET_REPORT_ASSETS_H
#define DRDOTNET_REPORT_ASSETS_H

#include <stddef.h>

struct report_asset {
	const char *text; /* not NUL-terminated */
	size_t len;
};

struct report_asset report_asset_template(void);
struct report_asset report_asset_css(void);
struct report_asset report_asset_js(void);

#endif
