#include "common/base/clock.h"

#include <errno.h>
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

const char *clock_rfc3339(int64_t wall_ms, char out[CLOCK_RFC3339_SIZE])
{
	time_t secs = (time_t)(wall_ms / 1000);
	struct tm tm;
	gmtime_r(&secs, &tm);
	strftime(out, CLOCK_RFC3339_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return out;
}

const char *clock_rfc3339_micro(int64_t wall_us, char out[CLOCK_RFC3339_SIZE])
{
	time_t secs = (time_t)(wall_us / 1000000);
	struct tm tm;
	gmtime_r(&secs, &tm);
	size_t n = strftime(out, CLOCK_RFC3339_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, CLOCK_RFC3339_SIZE - n, ".%06dZ", (int)(wall_us % 1000000));
	return out;
}

int clock_parse_rfc3339(const char *s, int64_t *wall_ms)
{
	struct tm tm = {0};
	int used = 0;
	if (sscanf(s, "%4d-%2d-%2dT%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
		   &tm.tm_sec, &used) != 6 || used != 19)
		return -1;
	if (tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 ||
	    tm.tm_min > 59 || tm.tm_sec > 60)
		return -1;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	const char *p = s + used;
	int64_t millis = 0;
	if (*p == '.') {
		int64_t scale = 100;
		for (p++; *p >= '0' && *p <= '9'; p++) {
			millis += (*p - '0') * scale;
			scale /= 10;
		}
	}
	int64_t offset_s = 0;
	if (*p == '+' || *p == '-') {
		int hours = 0, minutes = 0, n = 0;
		if (sscanf(p + 1, "%2d:%2d%n", &hours, &minutes, &n) != 2 || n != 5 || p[6] != '\0')
			return -1;
		offset_s = (hours * 3600 + minutes * 60) * (*p == '+' ? 1 : -1);
	} else if (strcmp(p, "Z") != 0) {
		return -1;
	}
	*wall_ms = ((int64_t)timegm(&tm) - offset_s) * 1000 + millis;
	return 0;
}

void clock_sleep_until_ms(int64_t mono_ms)
{
	struct timespec ts = {.tv_sec = mono_ms / 1000, .tv_nsec = (mono_ms % 1000) * 1000000};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}
