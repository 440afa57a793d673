#include "common/rest/rest_id.h"

#include "common/rest/rest_backend.h"

#include <stdio.h>
#include <string.h>

static bool is_lower_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_label(const char *s, size_t len)
{
	if (len == 0 || len > 63 || !is_lower_alnum(s[0]) || !is_lower_alnum(s[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_lower_alnum(s[i]) && s[i] != '-')
			return false;
	return true;
}

bool rest_id_is_namespace(const char *s)
{
	return is_label(s, strlen(s));
}

bool rest_id_is_name(const char *s)
{
	if (strlen(s) > 253)
		return false;
	for (;;) {
		size_t len = strcspn(s, ".");
		if (!is_label(s, len))
			return false;
		if (!s[len])
			return true;
		s += len + 1;
	}
}

bool rest_id_is_file(const char *s)
{
	size_t len = strlen(s);
	if (len == 0 || len > 63 || s[0] == '.')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_lower_alnum(s[i]) && !(s[i] >= 'A' && s[i] <= 'Z') && s[i] != '.' && s[i] != '-' && s[i] != '_')
			return false;
	return true;
}

int rest_session_id_parse(const char *text, struct rest_session_id *out)
{
	size_t len = strcspn(text, ".");
	if (!text[len] || !is_label(text, len) || !rest_id_is_name(text + len + 1))
		return -1;
	memcpy(out->namespace, text, len);
	out->namespace[len] = '\0';
	snprintf(out->name, sizeof out->name, "%s", text + len + 1);
	return 0;
}

void rest_session_id_print(const char *namespace, const char *name, char out[320])
{
	snprintf(out, 320, "%s.%s", namespace, name);
}
