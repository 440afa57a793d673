/* What can be known of a process before it is asked anything: that it stands still, or lives in a sandbox. */
#include "agent/host/process_state.h"
#include "agent/host/sandbox_kind.h"
#include "common/api/reason.h"
#include "tests/unit/agent/host/fake_proc.h"

#include <unistd.h>

static struct fake_proc proc;

static void set_up(void)
{
	fake_proc_init(&proc);
}

static void tear_down(void)
{
	fake_proc_fini(&proc);
}

TestSuite(process_state, .init = set_up, .fini = tear_down);

Test(process_state, names_who_or_what_holds_it)
{
	static const struct {
		struct proc_status status;
		const char *reason, *words;
	} rows[] = {
		{{.state = 'S'}, NULL, ""},
		{{.state = 'R'}, NULL, ""},
		{{.state = 'D', .is_dumping = true}, "BeingDebugged", "core dump"},
		{{.state = 'T'}, "ProcessStopped", "state T"},
		{{.state = 't', .tracer_pid = 4100000}, "BeingDebugged", "another process (process 4100000)"},
		{{.state = 'T', .tracer_pid = 4000001}, "BeingDebugged", "dot) net) (process 4000001)"},
	};
	fake_process(&proc, &(struct fake_process){0}); /* 4000001 */
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct err e = ERR_INIT;
		cr_expect_eq(process_state_check(proc.root, 4000001, &rows[i].status, &e), rows[i].reason ? -1 : 0, "row %zu", i);
		cr_expect_str_eq(e.reason ? e.reason : "", rows[i].reason ? rows[i].reason : "", "row %zu", i);
		cr_expect(strstr(e.message, rows[i].words), "row %zu: %s", i, e.message);
		cr_expect_eq(e.kind, rows[i].reason ? ERR_RETRY : ERR_NONE);
	}
}

Test(process_state, one_that_we_hold_ourselves_runs_on_soon)
{
	cr_expect_eq(process_state_check(proc.root, 4000001, &(struct proc_status){.state = 't', .tracer_pid = gettid()}, NULL), 0);
}

Test(process_state, knows_what_runs_a_sandbox)
{
	static const struct {
		const char *file, *argument0, *word;
	} rows[] = {
		{"/usr/local/bin/runsc", "runsc-sandbox", "gVisor"},
		{"", "runsc-sandbox", "gVisor"},
		{"/usr/bin/qemu-system-x86_64", "/usr/bin/qemu-system-x86_64", "virtual machine"},
		{"/opt/kata/bin/cloud-hypervisor", "", "virtual machine"},
		{"/opt/kata/bin/firecracker (deleted)", "", "virtual machine"},
		{"/app/Checkout", "/app/Checkout", NULL},
		{"/runsc/Checkout", "dotnet", NULL},
		{"", "", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const char *kind = sandbox_kind_by_name(rows[i].file, rows[i].argument0);
		cr_expect_eq(kind != NULL, rows[i].word != NULL, "row %zu: %s", i, kind ? kind : "none");
		cr_expect(!kind || !rows[i].word || strstr(kind, rows[i].word), "row %zu: %s", i, kind);
	}
}
