#include "agent/cli/cli_processes.h"

#include "agent/cli/cli_output.h"
#include "agent/cli/ps.h"
#include "common/api/reason.h"
#include "common/base/clock.h"

#define DISCOVER_MS 5000

static int find_processes(struct target_list *out, struct err *e)
{
	struct discover_options o = {
		.mode = AGENT_MODE_HOST_PID,
		.proc_root = "/proc",
		.query_runtime = true,
		.deadline_ms = clock_mono_ms() + DISCOVER_MS,
	};
	return discover_targets(&o, out, e);
}

/* The next commands, with a process that can be profiled. */
static void print_next(const struct target_list *l, FILE *out)
{
	static const enum profiler_kind first[] = {PROFILER_CPU_HOTPATHS, PROFILER_GC_SURVIVORS};
	char process[16] = "PROCESS";
	for (size_t i = l->count; i-- > 0;)
		if (l->items[i].profilable)
			snprintf(process, sizeof process, "%d", (int)l->items[i].pid);
	fprintf(out, "\nprofile one, by its id or its name:\n");
	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		fprintf(out, "  drdotnet run %-8s %-8s   %s\n", profiler_kind_words(first[i])->option, process, profiler_kind_words(first[i])->question);
	fprintf(out, "  drdotnet run --help              other symptoms, and all options\n");
}

static int show(const struct target_list *l, bool next, FILE *out)
{
	if (ps_print(l, false, out) < 0)
		return CLI_FAILED;
	if (l->count == 0 && l->hidden == 0)
		fprintf(out, "no .NET process runs here, or none that this user can see\n");
	if (next)
		print_next(l, out);
	return CLI_OK;
}

static int list(const struct cli_args *a, bool next, FILE *out)
{
	struct target_list l = {0};
	struct err e = ERR_INIT;
	int status = CLI_OK;
	if (find_processes(&l, &e) < 0) {
		cli_output_error(stdout, stderr, a->json, &e);
		status = CLI_FAILED;
	} else {
		status = !a->json ? show(&l, next, out) : ps_print(&l, true, out) < 0 ? CLI_FAILED : CLI_OK;
	}
	target_list_fini(&l);
	return status;
}

int cli_processes_list(const struct cli_args *a)
{
	return list(a, false, stdout);
}

int cli_processes_welcome(const struct cli_args *a)
{
	return list(a, true, stdout);
}

int cli_processes_explain(const struct cli_args *a)
{
	struct err e = ERR_INIT;
	err_set_reason(&e, ERR_INVALID, REASON_InvalidSpec, "say which process to profile, by its id or its name");
	if (a->json) {
		cli_output_error(stdout, stderr, true, &e);
		return CLI_USAGE;
	}
	fprintf(stderr, "drdotnet: %s\n\n", e.message);
	list(a, true, stderr);
	return CLI_USAGE;
}

void cli_processes_complete(const char *beginning, FILE *out)
{
	struct target_list l = {0};
	if (find_processes(&l, NULL) == 0)
		ps_print_words(&l, beginning, out);
	target_list_fini(&l);
}
