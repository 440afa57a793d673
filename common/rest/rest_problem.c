#include "common/rest/rest_problem.h"

#include "common/api/reason.h"
#include "common/web/web_server.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int rest_problem_set(struct rest_problem *p, unsigned status, const char *reason, const char *field, const char *fmt, ...)
{
	*p = (struct rest_problem){.status = status};
	snprintf(p->reason, sizeof p->reason, "%s", reason ? reason : "");
	snprintf(p->field, sizeof p->field, "%s", field ? field : "");
	va_list args;
	va_start(args, fmt);
	vsnprintf(p->detail, sizeof p->detail, fmt, args);
	va_end(args);
	return -1;
}

static unsigned problem_status(const struct err *e)
{
	switch (e->kind) {
	case ERR_INVALID:
		return 422;
	case ERR_DENIED:
		return e->code == 401 ? 401 : 403;
	case ERR_NOT_FOUND:
		return 404;
	case ERR_CONFLICT:
		return 409;
	case ERR_GONE:
		return 410;
	case ERR_RETRY:
	case ERR_CANCELED:
		return 503;
	case ERR_TIMEOUT:
		return 504;
	case ERR_PROTOCOL:
		return 502;
	default:
		return 500;
	}
}

/* "spec.target.maxPods: must be ..." begins with a path; an ordinary sentence has a space before its colon. */
static void take_field(struct rest_problem *p)
{
	size_t n = strcspn(p->detail, ":");
	if (p->detail[n] != ':' || n == 0 || n >= sizeof p->field)
		return;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)p->detail[i]) && !strchr("._[]-/", p->detail[i]))
			return;
	memcpy(p->field, p->detail, n);
	p->field[n] = '\0';
}

int rest_problem_from_err(struct rest_problem *p, const struct err *e)
{
	const char *remedy = e->reason ? reason_remedy(e->reason) : NULL;
	bool ended = e->message[0] && strchr(".!?", e->message[strlen(e->message) - 1]);
	rest_problem_set(p, problem_status(e), e->reason, NULL, "%s%s%s", e->message, remedy ? (ended ? " " : ". ") : "", remedy ? remedy : "");
	if (e->kind == ERR_INVALID)
		take_field(p);
	if (e->kind == ERR_RETRY || e->kind == ERR_TIMEOUT)
		p->retry_after_s = 2;
	return -1;
}

void rest_problem_respond(const struct rest_problem *p, struct web_response *r)
{
	if (p->retry_after_s) {
		char seconds[16];
		snprintf(seconds, sizeof seconds, "%d", p->retry_after_s);
		web_respond_header(r, "retry-after", seconds);
	}
	web_respond_problem(r, p->status ? p->status : 500, p->reason, p->field, "%s", p->detail);
}
