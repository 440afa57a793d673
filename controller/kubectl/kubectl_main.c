/* The plugin `kubectl drdotnet`: Dr-Dotnet for people at a terminal, with their own rights, through the API server. */
#include "common/base/crypto.h"
#include "common/base/http.h"
#include "common/base/log.h"
#include "controller/kubectl/doctor.h"
#include "controller/kubectl/plugin_lists.h"
#include "controller/kubectl/plugin_options.h"
#include "controller/kubectl/plugin_print.h"
#include "controller/kubectl/plugin_profile.h"
#include "controller/kubectl/plugin_ps.h"
#include "controller/kubectl/plugin_reports.h"

#include <signal.h>

typedef int command_fn(const struct plugin_args *a);

static command_fn *const commands[] = {
	[PLUGIN_PROFILE] = plugin_profile,
	[PLUGIN_LS] = plugin_lists_sessions,
	[PLUGIN_REPORT] = plugin_reports_report,
	[PLUGIN_PS] = plugin_ps,
	[PLUGIN_CANCEL] = plugin_lists_cancel,
	[PLUGIN_DELETE] = plugin_lists_delete,
	[PLUGIN_DIFF] = plugin_reports_diff,
	[PLUGIN_TRIGGERS] = plugin_lists_triggers,
	[PLUGIN_DOCTOR] = doctor,
};

int main(int argc, char **argv)
{
	crypto_stay();
	struct plugin_args args;
	struct err e = ERR_INIT;
	if (plugin_options_parse(argc, argv, &args, &e) < 0) {
		plugin_options_print_error(&args, &e, stderr);
		return PLUGIN_USAGE;
	}
	switch (args.command) {
	case PLUGIN_HELP:
		plugin_options_print_help(&args, stdout);
		return PLUGIN_OK;
	case PLUGIN_VERSION:
		printf("kubectl-drdotnet %s\n", DRDOTNET_VERSION);
		return PLUGIN_OK;
	case PLUGIN_COMPLETE: {
		const char *others = plugin_options_complete(argc, argv, stdout);
		if (others)
			puts(others);
		return PLUGIN_OK;
	}
	default:
		break;
	}
	log_configure(args.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
	signal(SIGPIPE, SIG_IGN);
	if (http_global_init(&e) < 0) {
		plugin_print_error(&e);
		return PLUGIN_FAILED;
	}
	return commands[args.command](&args);
}
