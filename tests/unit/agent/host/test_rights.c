#include "agent/host/rights.h"

#include <criterion/criterion.h>
#include <linux/capability.h>

#define PTRACE (UINT64_C(1) << CAP_SYS_PTRACE)
#define DAC (UINT64_C(1) << CAP_DAC_OVERRIDE)

static const struct {
	uint64_t capabilities;
	const char *text;
} rows[] = {
	{0, "it lacks SYS_PTRACE and DAC_OVERRIDE"},
	{PTRACE, "it lacks DAC_OVERRIDE"},
	{DAC, "it lacks SYS_PTRACE"},
	{~(PTRACE | DAC), "it lacks SYS_PTRACE and DAC_OVERRIDE"},
	{PTRACE | DAC, "AppArmor, SELinux or a user namespace forbids it"},
	{UINT64_MAX, "AppArmor, SELinux or a user namespace forbids it"},
};

Test(rights, name_what_is_missing)
{
	char out[RIGHTS_TEXT_SIZE];
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		cr_expect_str_eq(rights_explain_refusal(rows[i].capabilities, out), rows[i].text);
}
