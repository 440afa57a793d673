#include "controller/triggers/trigger_cron.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DAY_SECONDS INT64_C(86400)
#define QUARTER_SECONDS INT64_C(900) /* clocks are set, and zones differ, by multiples of it */
#define FIELD_COUNT 5
#define FIELD_MAX 128

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
static const char *const weekday_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

static const struct field {
	const char *title;
	int least, most;
	const char *const *names; /* of the values from `least` on; NULL: none */
} fields[FIELD_COUNT] = {
	{"minute", 0, 59, NULL},
	{"hour", 0, 23, NULL},
	{"day of month", 1, 31, NULL},
	{"month", 1, 12, month_names},
	{"day of week", 0, 6, weekday_names},
};

static const struct {
	const char *name, *same_as;
} shorthands[] = {
	{"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
	{"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"},
};

struct bits {
	uint64_t set;
	bool star;
};

static int bad(const struct field *f, const char *item, const char *why, struct err *e)
{
	return err_set(e, ERR_INVALID, 0, "%s: \"%.40s\": %s", f->title, item, why);
}

/* A number or a name; -1: neither. */
static int parse_cron_value(const struct field *f, const char *word, size_t len)
{
	int n = 0;
	for (int i = 0; f->names && i <= f->most - f->least; i++) {
		if (len == 3 && strncasecmp(f->names[i], word, 3) == 0)
			return f->least + i;
	}
	if (len == 0 || len > 4)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)word[i]))
			return -1;
		n = n * 10 + (word[i] - '0');
	}
	return n;
}

/* "*", "?", "a" or "a-b". */
static int parse_range(const struct field *f, const char *item, size_t len, int *from, int *to, struct err *e)
{
	*from = f->least;
	*to = f->most;
	if (len == 1 && (item[0] == '*' || item[0] == '?'))
		return 0;
	const char *dash = memchr(item, '-', len);
	size_t left = dash ? (size_t)(dash - item) : len;
	*from = parse_cron_value(f, item, left);
	*to = dash ? parse_cron_value(f, dash + 1, len - left - 1) : *from;
	if (*from < 0 || *to < 0)
		return bad(f, item, f->names ? "expected a number, a name or *" : "expected a number or *", e);
	if (*from < f->least || *to > f->most) {
		char why[64];
		snprintf(why, sizeof why, "must be between %d and %d", f->least, f->most);
		return bad(f, item, why, e);
	}
	return *from <= *to ? 0 : bad(f, item, "the range ends before it begins", e);
}

static int parse_item(const struct field *f, const char *item, struct bits *out, struct err *e)
{
	int from, to, step = 1;
	size_t len = strcspn(item, "/");
	if (parse_range(f, item, len, &from, &to, e) < 0)
		return -1;
	bool star = item[0] == '*' || item[0] == '?';
	if (item[len] == '/') {
		step = parse_cron_value(&(struct field){.title = f->title}, item + len + 1, strlen(item + len + 1));
		if (step < 1)
			return bad(f, item, "the step must be a number above 0", e);
		if (!memchr(item, '-', len))
			to = f->most; /* "5/10" goes on to the end */
	}
	for (int n = from; n <= to; n += step)
		out->set |= UINT64_C(1) << n;
	out->star |= star && step == 1;
	return 0;
}

static int parse_field(const struct field *f, const char *text, struct bits *out, struct err *e)
{
	char item[FIELD_MAX + 1];
	*out = (struct bits){0};
	for (const char *p = text;; p++) {
		size_t len = strcspn(p, ",");
		memcpy(item, p, len);
		item[len] = '\0';
		if (parse_item(f, item, out, e) < 0)
			return -1;
		p += len;
		if (!*p)
			return 0;
	}
}

static int split(const char *text, char out[FIELD_COUNT][FIELD_MAX + 1], struct err *e)
{
	int count = 0;
	for (const char *p = text + strspn(text, " \t"); *p; count++) {
		size_t len = strcspn(p, " \t");
		if (len > FIELD_MAX)
			return err_set(e, ERR_INVALID, 0, "longer than %d characters", FIELD_MAX);
		if (count < FIELD_COUNT) {
			memcpy(out[count], p, len);
			out[count][len] = '\0';
		}
		p += len;
		p += strspn(p, " \t");
	}
	if (count == FIELD_COUNT)
		return 0;
	return err_set(e, ERR_INVALID, 0, "expected 5 fields (minute, hour, day of month, month, day of week), found %d", count);
}

static const char *expand(const char *text)
{
	for (size_t i = 0; i < sizeof shorthands / sizeof shorthands[0]; i++) {
		if (strcmp(text, shorthands[i].name) == 0)
			return shorthands[i].same_as;
	}
	return text;
}

int trigger_cron_parse(const char *text, struct trigger_cron *out, struct err *e)
{
	char words[FIELD_COUNT][FIELD_MAX + 1];
	struct bits bits[FIELD_COUNT];
	text = expand(text);
	if (text[0] == '@')
		return err_set(e, ERR_INVALID, 0, "\"%.40s\": expected @hourly, @daily, @weekly, @monthly, @yearly or five fields", text);
	if (split(text, words, e) < 0)
		return -1;
	for (int i = 0; i < FIELD_COUNT; i++) {
		if (parse_field(&fields[i], words[i], &bits[i], e) < 0)
			return -1;
	}
	struct trigger_cron c = {
		.minutes = bits[0].set,
		.hours = (uint32_t)bits[1].set,
		.days = (uint32_t)bits[2].set,
		.months = (uint32_t)bits[3].set,
		.weekdays = (uint32_t)bits[4].set,
		.any_day = bits[2].star,
		.any_weekday = bits[4].star,
	};
	if (trigger_cron_next(&c, NULL, NULL, 0) == TRIGGER_CRON_NEVER)
		return err_set(e, ERR_INVALID, 0, "\"%.40s\": there is no such day", text);
	*out = c;
	return 0;
}

/* the calendar ------------------------------------------------------------------------------------------------------- */

struct civil {
	int64_t year;
	int month, day, weekday, minute_of_day;
};

/* Days since 1970 to a date of the Gregorian calendar, counted in years that begin in March and eras of 400 of them. */
static void civil_from_days(int64_t days, struct civil *out)
{
	days += 719468; /* from 0000-03-01 */
	int64_t era = (days >= 0 ? days : days - 146096) / 146097;
	int64_t in_era = days - era * 146097;
	int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	int64_t in_year = in_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * in_year + 2) / 153; /* 0: March */
	out->day = (int)(in_year - (153 * month + 2) / 5 + 1);
	out->month = (int)(month < 10 ? month + 3 : month - 9);
	out->year = year + era * 400 + (out->month <= 2);
}

static int cron_days_in_month(int64_t year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return days[month - 1] + (month == 2 && leap);
}

static void civil_from_seconds(int64_t local_seconds, struct civil *out)
{
	int64_t days = local_seconds / DAY_SECONDS, rest = local_seconds % DAY_SECONDS;
	if (rest < 0) {
		rest += DAY_SECONDS;
		days--;
	}
	civil_from_days(days, out);
	out->weekday = (int)(((days + 4) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */
	out->minute_of_day = (int)(rest / 60);
}

static bool day_matches(const struct trigger_cron *c, const struct civil *t)
{
	bool day = c->days >> t->day & 1, weekday = c->weekdays >> t->weekday & 1;
	return c->any_day || c->any_weekday ? day && weekday : day || weekday;
}

/* How far nothing can match, in seconds by the local clock; 0: it matches. Never less than a minute otherwise. */
static int64_t mismatch(const struct trigger_cron *c, const struct civil *t)
{
	int64_t to_midnight = DAY_SECONDS - 60 * (int64_t)t->minute_of_day;
	if (!(c->months >> t->month & 1))
		return to_midnight + DAY_SECONDS * (cron_days_in_month(t->year, t->month) - t->day);
	if (!day_matches(c, t))
		return to_midnight;
	if (!(c->hours >> (t->minute_of_day / 60) & 1))
		return 60 * (int64_t)(60 - t->minute_of_day % 60);
	return c->minutes >> (t->minute_of_day % 60) & 1 ? 0 : 60;
}

static int64_t offset_at(trigger_cron_offset_fn *offset, const void *zone, int64_t utc)
{
	return offset ? offset(zone, utc) : 0;
}

int64_t trigger_cron_next(const struct trigger_cron *c, trigger_cron_offset_fn *offset, const void *zone, int64_t after_wall_ms)
{
	int64_t utc = after_wall_ms / 60000 * 60 + 60, end = utc + TRIGGER_CRON_YEARS * 366 * DAY_SECONDS;
	while (utc < end) {
		int64_t ahead = offset_at(offset, zone, utc);
		struct civil now;
		civil_from_seconds(utc + ahead, &now);
		int64_t far = mismatch(c, &now);
		if (far == 0)
			return utc * 1000;
		/* The leap is right when the clock is not set on the way; else we walk. */
		if (far > QUARTER_SECONDS && offset_at(offset, zone, utc + far) != ahead)
			far = QUARTER_SECONDS - utc % QUARTER_SECONDS;
		utc += far;
	}
	return TRIGGER_CRON_NEVER;
}
