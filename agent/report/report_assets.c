#include "agent/report/report_assets.h"

#include "common/base/embed.h"

#define EMBED(symbol, path) EMBED_FILE(".rodata.report_assets", symbol, "agent/report/assets/" path)

EMBED(report_asset_data_page, "page.html");
EMBED(report_asset_data_page_css, "page.css");
EMBED(report_asset_data_page_js, "page.js");
EMBED(report_asset_data_cpu, "cpu.html");
EMBED(report_asset_data_flame, "flame.html");
EMBED(report_asset_data_flame_js, "flame.js");
EMBED(report_asset_data_allocs, "allocs.html");

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

struct report_asset report_asset_cpu(void)
{
	return ASSET(report_asset_data_cpu);
}

struct report_asset report_asset_flame(void)
{
	return ASSET(report_asset_data_flame);
}

struct report_asset report_asset_flame_js(void)
{
	return ASSET(report_asset_data_flame_js);
}

struct report_asset report_asset_allocs(void)
{
	return ASSET(report_asset_data_allocs);
}
