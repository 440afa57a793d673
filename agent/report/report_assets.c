#include "agent/report/report_assets.h"

#include "common/base/embed.h"

#define EMBED(symbol, path) EMBED_FILE(".rodata.report_assets", symbol, "agent/report/assets/" path)

EMBED(report_asset_data_page, "page.html");
EMBED(report_asset_data_page_css, "page.css");
EMBED(report_asset_data_page_js, "page.js");
EMBED(report_asset_data_survivors, "survivors.html");
EMBED(report_asset_data_survivors_css, "survivors.css");
EMBED(report_asset_data_survivors_js, "survivors.js");
EMBED(report_asset_data_pauses, "pauses.html");
EMBED(report_asset_data_pauses_css, "pauses.css");
EMBED(report_asset_data_pauses_js, "pauses.js");
EMBED(report_asset_data_leak, "leak.html");

#define ASSET(symbol) ((struct report_asset){symbol, (size_t)(symbol##_end - symbol)})

struct report_asset report_asset_page(void)
{
	return ASSET(report_asset_data_page);
}

struct report_asset report_asset_page_css(void)
{
	return ASSET(report_asset_data_page_css);
}

struct report_asset report_asset_page_js(void)
{
	return ASSET(report_asset_data_page_js);
}

struct report_asset report_asset_survivors(void)
{
	return ASSET(report_asset_data_survivors);
}

struct report_asset report_asset_survivors_css(void)
{
	return ASSET(report_asset_data_survivors_css);
}

struct report_asset report_asset_survivors_js(void)
{
	return ASSET(report_asset_data_survivors_js);
}

struct report_asset report_asset_leak(void)
{
	return ASSET(report_asset_data_leak);
}

struct report_asset report_asset_pauses(void)
{
	return ASSET(report_asset_data_pauses);
}

struct report_asset report_asset_pauses_css(void)
{
	return ASSET(report_asset_data_pauses_css);
}

struct report_asset report_asset_pauses_js(void)
{
	return ASSET(report_asset_data_pauses_js);
}
