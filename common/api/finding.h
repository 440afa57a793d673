/* What a profiler's rules said of a process: an illness that was found, one that a number excludes, or one that was not measured. The same in report.json,
 * in link messages and in a session's status; docs/diseases.md explains each id. Plain data, copied by value. Pure; any thread. */
#ifndef DRDOTNET_FINDING_H
#define DRDOTNET_FINDING_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define FINDING_ID_SIZE 48
#define FINDING_MESSAGE_SIZE 241
#define FINDING_EVIDENCE_SIZE 321
#define FINDING_PLACE_SIZE 241
#define FINDING_NAME_SIZE 121
#define FINDING_FIX_SIZE 241
#define FINDINGS_REPORTED 8 /* of a process, in link messages and in a status: the first ones */

enum finding_state {
	FINDING_FOUND,
	FINDING_POSSIBLE,     /* only one witness speaks for it */
	FINDING_EXCLUDED,
	FINDING_NOT_MEASURED,
};

struct finding {
	char id[FINDING_ID_SIZE];             /* "RegexBacktracking" */
	enum finding_state state;
	int score;                            /* found, possible: 1 to 100, how much of the harm it explains; else 0 */
	char message[FINDING_MESSAGE_SIZE];   /* found, possible: a sentence without its full stop; excluded: what is; not measured: why */
	char evidence[FINDING_EVIDENCE_SIZE]; /* the numbers that speak for it, or exclude it; "" where it was not measured */
	char place[FINDING_PLACE_SIZE];       /* the method, thread or holder that it is about; "": none */
	char name[FINDING_NAME_SIZE];         /* a noun phrase, what was looked for: "exceptions as control flow"; of a profiler's own judgement only */
	char fix[FINDING_FIX_SIZE];           /* likewise: what to do, without its full stop; "": not known */
	bool repeats;                         /* likewise: what leads says the same already */
	int precedence;                       /* likewise: of equal scores the higher one leads */
};

/* Whether a finding of that id explains harm. False: it tells a state that needs no cure ("Idle"), so that it is no reason for an alert. */
bool finding_is_harm(const char *id);

const char *finding_state_name(enum finding_state s); /* "Found", "Possible", "Excluded", "NotMeasured" */

/* Fill a text of the finding; what does not fit is cut between characters. */
void finding_message(struct finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
void finding_evidence(struct finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends to the evidence that is there: "; " and the text. */
void finding_evidence_also(struct finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Where the finding is excluded (true), says what was looked for and the evidence, all that there is to say. */
bool finding_excluded(struct finding *f, const char *message, const char *evidence, ...) __attribute__((format(printf, 3, 4)));
void finding_place(struct finding *f, const char *place);

/* A new array with the same, free() it; NULL: there are none. */
struct finding *findings_copy(const struct finding *list, size_t count);

struct json_t;

/* {id, state, score, message, evidence, place} of each that is found or possible, at most FINDINGS_REPORTED. A new reference. */
struct json_t *findings_to_json(const struct finding *list, size_t count);

/* Reads what findings_to_json() wrote, from an older or newer part too: entries without a sound id, state or score are passed over. `list` has room for
 * FINDINGS_REPORTED; gives how many. NULL: none. */
size_t findings_from_json(const struct json_t *array, struct finding *list);

#endif
