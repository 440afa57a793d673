#include "agent/report_assets.h"

/* The assembler takes the files in; paths are relative to where make runs. */
#define EMBED(symbol, path)                                     \
	__asm__(".pushsection .rodata.report_assets,\"a\"\n"    \
		".global " #symbol "\n" #symbol ":\n"           \
		".incbin \"agent/report_assets/" path "\"\n"    \
		".global " #symbol "_end\n" #symbol "_end:\n"   \
		".byte 0\n"                                     \
		".popsection\n");                               \
	extern const char symbol[], symbol##_end[]

EMBED(report_asset_data_template, "report.html");
EMBED(report_asset_data_css, "report.css");
EMBED(report_asset_data_js, "report.js");

struct report_asset report_asset_template(void)
{
	return (struct report_asset){report_asset_data_template, (size_t)(report_asset_data_template_end - report_asset_data_template)};
}

struct report_asset report_asset_css(void)
{
	return (struct report_asset){report_asset_data_css, (size_t)(report_asset_data_css_end - report_asset_data_css)};
}

struct report_asset report_asset_js(void)
{
	return (struct report_asset){report_asset_data_js, (size_t)(report_asset_data_js_end - report_asset_data_js)};
}
