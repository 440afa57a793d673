#include "common/base/exit_status.h"

#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>

#define SIGNALED 128

static const char *name_signal(int64_t number)
{
	static const struct {
		int number;
		const char *name;
	} names[] = {
		{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"}, {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"},
		{SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"},	{SIGKILL, "SIGKILL"}, {SIGSEGV, "SIGSEGV"},
		{SIGPIPE, "SIGPIPE"}, {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"}, {SIGSYS, "SIGSYS"},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].number == number)
			return names[i].name;
	return NULL;
}

struct exit_status exit_status_of_wait(int status)
{
	if (WIFSIGNALED(status))
		return (struct exit_status){true, SIGNALED + WTERMSIG(status), name_signal(WTERMSIG(status))};
	return (struct exit_status){true, WEXITSTATUS(status), NULL};
}

struct exit_status exit_status_of_code(int64_t code, int64_t signal)
{
	return (struct exit_status){true, code, name_signal(signal ? signal : code - SIGNALED)};
}

void exit_status_text(const struct exit_status *s, struct buf *out)
{
	if (!s->known)
		return;
	buf_printf(out, "exit code %lld", (long long)s->code);
	if (s->signal)
		buf_printf(out, " (%s)", s->signal);
}
