#include "agent/discover/discover.h"

#include "agent/diag/diag_codec.h"
#include "agent/diag/diag_exchange.h"
#include "agent/diag/diag_ipc.h"
#include "common/api/reason.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <ctype.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

struct question {
	struct candidate *candidate; /* NULL: answered */
	enum diag_command command;
	struct diag_exchange exchange;
};

/* "10.0.12+<commit>" is cut at '+'; anything that is no version is not taken over. */
static char *clean_version(const char *s)
{
	size_t n = strcspn(s, "+ ");
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)s[i]) && s[i] != '.' && s[i] != '-')
			return mem_strdup("unknown");
	}
	return mem_strndup(s, n < 40 ? n : 40);
}

static char *lower_case(const char *s)
{
	char *copy = mem_strndup(s, text_cut_utf8(s, 32));
	for (char *p = copy; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return copy;
}

static char *printable_text(const char *s, size_t max_bytes)
{
	AUTO_BUF struct buf text;
	buf_init(&text, max_bytes * 8 + 1);
	text_append_printable(&text, s, text_cut_utf8(s, max_bytes));
	char *out = buf_steal(&text);
	out[text_cut_utf8(out, max_bytes)] = '\0';
	return out;
}

static void take_answer(struct target *t, const struct diag_process_info *info)
{
	if (info->pid != t->inner_pid) {
		discover_refuse(t, REASON_AttachFailed, "the socket of process %d answers for process %lld", (int)t->inner_pid,
				(long long)info->pid);
		return;
	}
	t->runtime_version = clean_version(info->runtime_version);
	t->arch = lower_case(info->arch);
	t->os = lower_case(info->os);
	t->rid = info->rid && *info->rid ? printable_text(info->rid, 64) : NULL;
	t->entrypoint = *info->entrypoint ? mem_strndup(info->entrypoint, text_cut_utf8(info->entrypoint, 200)) : NULL;
	free(t->command_line);
	t->command_line = printable_text(info->command_line, 256);
}

static void take_failure(struct target *t, const struct err *e)
{
	if (e->kind == ERR_TIMEOUT)
		return; /* the verdict has better reasons than silence: it was stopped meanwhile, say */
	if (e->kind == ERR_GONE && !target_alive(t))
		discover_refuse(t, REASON_ProcessExited, "the process has ended");
	else
		discover_refuse(t, e->reason ? e->reason : REASON_AttachFailed, "%s", e->message);
}

static void finish_question(struct question *q, const struct err *failure)
{
	if (failure)
		take_failure(&q->candidate->target, failure);
	diag_exchange_fini(&q->exchange);
	cleanup_fd(&q->candidate->fd);
	q->candidate->fd = -1;
	q->candidate = NULL;
}

/* .NET 7 and older know only the older command, on a new connection. */
static bool ask_older(struct question *q, int64_t deadline_ms)
{
	struct candidate *c = q->candidate;
	int fd = diag_ipc_connect(&c->target, clock_mono_ms() + DISCOVER_CONNECT_MS < deadline_ms
				  ? clock_mono_ms() + DISCOVER_CONNECT_MS : deadline_ms, NULL);
	if (fd < 0)
		return false;
	diag_exchange_fini(&q->exchange);
	cleanup_fd(&c->fd);
	c->fd = fd;
	q->command = DIAG_PROCESS_INFO2;
	diag_exchange_init_question(&q->exchange, fd, q->command);
	return true;
}

static void advance_question(struct question *q, int64_t deadline_ms)
{
	struct err e = ERR_INIT;
	int r = diag_exchange_step(&q->exchange, &e);
	if (r == 0)
		return;
	struct diag_process_info info;
	if (r < 0 || diag_exchange_process_info(&q->exchange, q->command, &info, &e) < 0) {
		bool unknown = q->command == DISCOVER_QUESTION && (uint32_t)e.code == DIAG_E_UNKNOWN_COMMAND;
		if (unknown && ask_older(q, deadline_ms))
			return;
		if (q->command == DIAG_PROCESS_INFO2 && (uint32_t)e.code == DIAG_E_UNKNOWN_COMMAND)
			discover_refuse(&q->candidate->target, REASON_RuntimeTooOld, "its runtime cannot tell its version, as before .NET 6");
		finish_question(q, &e);
		return;
	}
	take_answer(&q->candidate->target, &info);
	diag_process_info_fini(&info);
	finish_question(q, NULL);
}

static size_t fill_poll(const struct question *questions, size_t count, struct pollfd *polls)
{
	size_t open = 0;
	for (size_t i = 0; i < count; i++) {
		const struct question *q = &questions[i];
		polls[i] = (struct pollfd){.fd = -1};
		if (!q->candidate)
			continue;
		polls[i] = (struct pollfd){.fd = q->candidate->fd, .events = diag_exchange_events(&q->exchange)};
		open++;
	}
	return open;
}

void discover_query(struct candidate_list *l, int64_t answer_ms, int64_t deadline_ms)
{
	AUTO_FREE struct question *questions = mem_calloc(l->count + 1, sizeof *questions);
	AUTO_FREE struct pollfd *polls = mem_calloc(l->count + 1, sizeof *polls);
	size_t count = 0;
	for (size_t i = 0; i < l->count; i++) {
		if (l->items[i].fd < 0 || l->items[i].target.reason)
			continue;
		questions[count] = (struct question){.candidate = &l->items[i], .command = DISCOVER_QUESTION};
		diag_exchange_init_asked(&questions[count++].exchange, l->items[i].fd);
	}
	int64_t until = clock_mono_ms() + (answer_ms > 0 ? answer_ms : DISCOVER_ANSWER_MS);
	if (deadline_ms > 0 && until > deadline_ms)
		until = deadline_ms;
	for (size_t i = 0; i < count; i++)
		advance_question(&questions[i], until);
	while (fill_poll(questions, count, polls) > 0) {
		int64_t left = until - clock_mono_ms();
		if (left <= 0)
			break;
		if (poll(polls, count, (int)left) <= 0)
			continue;
		for (size_t i = 0; i < count; i++) {
			if (questions[i].candidate && polls[i].revents)
				advance_question(&questions[i], until);
		}
	}
	struct err silent = {.kind = ERR_TIMEOUT};
	for (size_t i = 0; i < count; i++) {
		if (questions[i].candidate)
			finish_question(&questions[i], &silent);
	}
}
