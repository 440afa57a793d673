#include "agent/report/session_facts.h"

void session_facts_copy(struct session_facts *out, const struct session_facts *from)
{
	*out = *from;
	target_copy(&out->target, &from->target);
}

void session_facts_fini(struct session_facts *f)
{
	if (!f)
		return;
	target_fini(&f->target);
	*f = (struct session_facts){0};
}
