#include "common/base/clock.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t read_ns(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t clock_mono_ms(void)
{
	return read_ns(CLOCK_MONOTONIC) / 1000000;
}

int64_t clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_wall_ms(void)
{
	return read_ns(CLOCK_REALTIME) / 1000000;
}

/* What is left of `value` after whole units, which it is taken down to: also for times before 1970. */
static int64_t floor_unit(int64_t *value, int64_t unit)
{
	int64_t rest = *value % unit;
	if (rest < 0)
		rest += unit;
	*value = (*value - rest) / unit;
	return rest;
}

/* "2026-11-21T08:50:32"; the year always has four digits. */
static size_t format_seconds(int64_t seconds, char out[CLOCK_RFC3339_SIZE])
{
	time_t secs = (time_t)seconds;
	struct tm tm;
	gmtime_r(&secs, &tm);
	size_t n = (size_t)snprintf(out, CLOCK_RFC3339_SIZE, "%04d", (tm.tm_year + 1900) % 10000);
	return n + strftime(out + n, CLOCK_RFC3339_SIZE - n, "-%m-%dT%H:%M:%S", &tm);
}

const char *clock_rfc3339(int64_t wall_ms, char out[CLOCK_RFC3339_SIZE])
{
	floor_unit(&wall_ms, 1000);
	strcpy(out + format_seconds(wall_ms, out), "Z");
	return out;
}

const char *clock_rfc3339_micro(int64_t wall_us, char out[CLOCK_RFC3339_SIZE])
{
	int micros = (int)floor_unit(&wall_us, 1000000);
	size_t n = format_seconds(wall_us, out);
	snprintf(out + n, CLOCK_RFC3339_SIZE - n, ".%06dZ", micros);
	return out;
}

/* `digits` decimal digits, nothing else; -1 when something else stands there. */
static int read_digits(const char *s, int digits)
{
	int value = 0;
	for (int i = 0; i < digits; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -1;
		value = value * 10 + (s[i] - '0');
	}
	return value;
}

static int month_days(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return days[month - 1] + (month == 2 && leap);
}

/* "2026-11-21T08:50:32", 19 characters. */
static int parse_date_time(const char *s, struct tm *tm)
{
	static const char shape[] = "0000-00-00T00:00:00";
	for (size_t i = 0; i < sizeof shape - 1; i++) {
		if (shape[i] == '0' ? s[i] < '0' || s[i] > '9' : s[i] != shape[i])
			return -1;
	}
	int year = read_digits(s, 4), month = read_digits(s + 5, 2), day = read_digits(s + 8, 2);
	*tm = (struct tm){.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = read_digits(s + 11, 2),
			  .tm_min = read_digits(s + 14, 2), .tm_sec = read_digits(s + 17, 2)};
	bool good = month >= 1 && month <= 12 && day >= 1 && day <= month_days(year, month) && tm->tm_hour <= 23 && tm->tm_min <= 59 &&
		    tm->tm_sec <= 60;
	return good ? 0 : -1;
}

/* "Z", "+01:00" or "-05:30", and the end of the text. */
static int parse_offset(const char *s, int64_t *seconds)
{
	*seconds = 0;
	if (strcmp(s, "Z") == 0)
		return 0;
	if ((*s != '+' && *s != '-') || strlen(s) != 6 || s[3] != ':')
		return -1;
	int hours = read_digits(s + 1, 2), minutes = read_digits(s + 4, 2);
	if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
		return -1;
	*seconds = (hours * 3600 + minutes * 60) * (*s == '+' ? 1 : -1);
	return 0;
}

int clock_parse_rfc3339(const char *s, int64_t *wall_ms)
{
	struct tm tm;
	if (parse_date_time(s, &tm) < 0)
		return -1;
	const char *p = s + 19;
	int64_t millis = 0, offset_s;
	if (*p == '.') {
		int64_t scale = 100;
		const char *first = ++p;
		for (; *p >= '0' && *p <= '9'; p++) {
			millis += (*p - '0') * scale;
			scale /= 10;
		}
		if (p == first)
			return -1;
	}
	if (parse_offset(p, &offset_s) < 0)
		return -1;
	*wall_ms = ((int64_t)timegm(&tm) - offset_s) * 1000 + millis;
	return 0;
}

int64_t clock_doubled_ms(int64_t first_ms, int64_t most_ms, int64_t times)
{
	int64_t wait_ms = first_ms;
	for (int64_t i = 0; i < times && wait_ms < most_ms; i++)
		wait_ms *= 2;
	return wait_ms < most_ms ? wait_ms : most_ms;
}

void clock_sleep_until_ms(int64_t mono_ms)
{
	struct timespec ts = {.tv_sec = mono_ms / 1000, .tv_nsec = (mono_ms % 1000) * 1000000};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}
