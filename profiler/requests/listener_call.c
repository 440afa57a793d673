/* Context: any. */
#include "profiler/requests/listener_call.h"

#include "profiler/requests/sql_shape.h"

#include <string.h>

#define ID_DIGITS 32

static enum call_moment moment_of(const struct event_text *event)
{
	static const struct {
		const char *name;
		enum call_moment moment;
	} rows[] = {
		{"Microsoft.EntityFrameworkCore.Database.Command.CommandExecuting", CALL_START},
		{"Microsoft.EntityFrameworkCore.Database.Command.CommandExecuted", CALL_STOP},
		{"Microsoft.EntityFrameworkCore.Database.Command.CommandError", CALL_FAILED},
		{"Microsoft.EntityFrameworkCore.Database.Command.CommandCanceled", CALL_FAILED},
		{"Microsoft.Data.SqlClient.WriteCommandBefore", CALL_START},
		{"Microsoft.Data.SqlClient.WriteCommandAfter", CALL_STOP},
		{"Microsoft.Data.SqlClient.WriteCommandError", CALL_FAILED},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (event_text_is(event, rows[i].name, true))
			return rows[i].moment;
	return CALL_OTHER;
}

/* "0f8fad5b-d9cb-469f-a165-70867728950e". */
static bool take_id(const struct event_text *text, struct activity_path *out)
{
	uint64_t parts[2] = {0, 0};
	unsigned digits = 0;

	for (size_t i = 0; i < text->units; i++) {
		unsigned c = text->data[2 * i] | (unsigned)text->data[2 * i + 1] << 8, digit;
		if (c == '-')
			continue;
		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (c | 0x20) - 'a' + 10;
		else
			return false;
		if (digits == ID_DIGITS)
			return false;
		parts[digits / 16] = parts[digits / 16] << 4 | digit;
		digits++;
	}
	/* The first byte of none is 0, and no activity of the runtime's own begins so. */
	*out = (struct activity_path){parts[0] | 0xff, (uint32_t)(parts[1] ^ parts[1] >> 32)};
	return digits == ID_DIGITS;
}

/* What the client's own events tell is not told a second time, by Entity Framework Core above it. */
static bool tells_itself(const struct event_text *client)
{
	return event_text_is(client, "Npgsql.", false) || event_text_is(client, "Microsoft.Data.SqlClient.", false);
}

static void put_sql(const struct event_text *sql, enum sql_dialect dialect, struct path_shape *out)
{
	static const char kind[] = "sql ";

	out->words = 0;
	out->len = sizeof kind - 1;
	memcpy(out->text, kind, out->len);
	out->len = (uint16_t)(out->len + sql_shape_make(sql, dialect, out->text + out->len));
}

bool listener_call_read(const uint8_t *data, size_t len, struct listener_call *out)
{
	struct event_text key, value, id = {NULL, 0}, sql = {NULL, 0}, client = {NULL, 0};
	struct listener_event e;

	if (!listener_event_open(data, len, &e) || (out->moment = moment_of(&e.name)) == CALL_OTHER)
		return false;
	while (listener_event_next(&e, &key, &value)) {
		if (event_text_is(&key, "Id", true))
			id = value;
		else if (event_text_is(&key, "Text", true))
			sql = value;
		else if (event_text_is(&key, "Client", true))
			client = value;
	}
	bool is_sql_client = event_text_is(&e.name, "Microsoft.Data.SqlClient.", false);
	if (e.r.bad || !take_id(&id, &out->id) || (out->moment == CALL_START && (!sql.data || tells_itself(&client))))
		return false;
	if (out->moment == CALL_START)
		put_sql(&sql, is_sql_client ? SQL_OF_SQL_SERVER : sql_dialect_of(&client), &out->shape);
	return true;
}
