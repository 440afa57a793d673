#include "agent/host/rights.h"

#include "common/base/fsio.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAP_BIT(cap) (UINT64_C(1) << (cap))

const char *rights_explain_refusal(uint64_t capabilities, char out[RIGHTS_TEXT_SIZE])
{
	const char *ptrace = capabilities & CAP_BIT(CAP_SYS_PTRACE) ? "" : "SYS_PTRACE";
	const char *dac = capabilities & CAP_BIT(CAP_DAC_OVERRIDE) ? "" : "DAC_OVERRIDE";
	if (!*ptrace && !*dac)
		snprintf(out, RIGHTS_TEXT_SIZE, "AppArmor, SELinux or a user namespace forbids it");
	else
		snprintf(out, RIGHTS_TEXT_SIZE, "it lacks %s%s%s", ptrace, *ptrace && *dac ? " and " : "", dac);
	return out;
}

static uint64_t own_capabilities(void)
{
	char status[4096];
	const char *at = NULL;
	if (fsio_read_small(AT_FDCWD, "/proc/self/status", status, sizeof status) > 0)
		at = strstr(status, "\nCapEff:");
	return at ? strtoull(at + strlen("\nCapEff:"), NULL, 16) : 0;
}

const char *rights_explain_own_refusal(char out[RIGHTS_TEXT_SIZE])
{
	return rights_explain_refusal(own_capabilities(), out);
}

const char *rights_explain_own_file_refusal(char out[RIGHTS_TEXT_SIZE])
{
	return rights_explain_refusal(own_capabilities() | CAP_BIT(CAP_SYS_PTRACE), out);
}
