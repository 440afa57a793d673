#include "agent/diag/diag_env.h"

#include "agent/host/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *find_setting(const char *block, size_t len, const char *suffix, const char **name)
{
	static const char *const prefixes[] = {"DOTNET_", "COMPlus_"};
	static const char *const names[][2] = {
		{"DOTNET_EnableDiagnostics", "COMPlus_EnableDiagnostics"},
		{"DOTNET_EnableDiagnostics_IPC", "COMPlus_EnableDiagnostics_IPC"},
		{"DOTNET_EnableDiagnostics_Profiler", "COMPlus_EnableDiagnostics_Profiler"},
		{"DOTNET_DefaultDiagnosticPortSuspend", "COMPlus_DefaultDiagnosticPortSuspend"},
		{"DOTNET_DiagnosticPorts", "COMPlus_DiagnosticPorts"},
	};
	for (size_t p = 0; p < 2; p++) {
		for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
			if (strcmp(names[i][p] + strlen(prefixes[p]), suffix) != 0)
				continue;
			const char *value = proc_env_find(block, len, names[i][p]);
			if (value && *value) {
				*name = names[i][p];
				return value;
			}
		}
	}
	return NULL;
}

/* -1: not a number (the runtime then takes its default). */
static long setting_number(const char *value)
{
	char *end;
	unsigned long v = strtoul(value, &end, 16);
	return end == value ? -1 : v > 0;
}

const char *diag_env_disabled(const char *block, size_t len)
{
	static const char *const switches[] = {"EnableDiagnostics", "EnableDiagnostics_IPC", "EnableDiagnostics_Profiler"};
	for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
		const char *name, *value = find_setting(block, len, switches[i], &name);
		if (value && setting_number(value) == 0)
			return name;
	}
	return NULL;
}

const char *diag_env_suspends(const char *block, size_t len)
{
	const char *name, *value = find_setting(block, len, "DefaultDiagnosticPortSuspend", &name);
	if (value && setting_number(value) == 1)
		return name;
	/* Each port waits unless it says "nosuspend". */
	value = find_setting(block, len, "DiagnosticPorts", &name);
	while (value && *value) {
		size_t n = strcspn(value, ";");
		const char *no = memmem(value, n, "nosuspend", strlen("nosuspend"));
		if (n > 0 && !no)
			return name;
		value += n + (value[n] == ';');
	}
	return NULL;
}

bool diag_env_profiled(const char *block, size_t len)
{
	static const char *const switches[] = {"CORECLR_ENABLE_PROFILING", "CORECLR_ENABLE_NOTIFICATION_PROFILERS"};
	for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
		const char *value = proc_env_find(block, len, switches[i]);
		if (value && setting_number(value) == 1)
			return true;
	}
	return false;
}

int diag_env_tmpdir(const char *block, size_t len, char *out, size_t size)
{
	const char *value = proc_env_find(block, len, "TMPDIR");
	if (!value || *value != '/')
		value = "/tmp";
	size_t n = strlen(value);
	while (n > 1 && value[n - 1] == '/')
		n--;
	if (n >= size)
		return -1;
	memcpy(out, value, n);
	out[n] = '\0';
	return 0;
}
