/* One line per event on stderr: level, component, message, key=value pairs. JSON objects when stderr is not a
 * terminal. Outside text is escaped (control bytes, terminal sequences, invalid UTF-8); secrets and the query strings
 * of signed URLs are never passed in. Any thread; a line is one write(2) of at most 8 KiB: a longer one keeps the start of its message
 * only.
 *
 *   LOG_INFO("link", "agent linked", LOG_S("node", node), LOG_I("agents", count));
 */
#ifndef DRDOTNET_LOG_H
#define DRDOTNET_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };
enum log_format { LOG_FORMAT_AUTO, LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

struct log_kv {
	const char *key; /* NULL ends the list */
	const char *text; /* NULL: the number counts */
	int64_t number;
};

static inline const char *log_text(const char *s)
{
	return s ? s : "";
}

#define LOG_S(k, v) {(k), log_text(v), 0}
#define LOG_I(k, v) {(k), NULL, (int64_t)(v)}

void log_configure(enum log_level least, enum log_format format);

/* `kv` starts with one unused entry (see the macros) and ends with a NULL key. */
void log_write(enum log_level level, const char *component, const char *msg, const struct log_kv *kv);

#define LOG_AT(level, component, msg, ...) \
	log_write((level), (component), (msg), (const struct log_kv[]){{"", "", 0}, ##__VA_ARGS__, {NULL, NULL, 0}})
#define LOG_DEBUG(component, msg, ...) LOG_AT(LOG_LEVEL_DEBUG, component, msg, ##__VA_ARGS__)
#define LOG_INFO(component, msg, ...) LOG_AT(LOG_LEVEL_INFO, component, msg, ##__VA_ARGS__)
#define LOG_WARN(component, msg, ...) LOG_AT(LOG_LEVEL_WARN, component, msg, ##__VA_ARGS__)
#define LOG_ERROR(component, msg, ...) LOG_AT(LOG_LEVEL_ERROR, component, msg, ##__VA_ARGS__)

#endif
