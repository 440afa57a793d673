#include "controller/store/report_path.h"
#include "controller/store/report_store.h"

#include <string.h>

#define UID_PART 8

/* One segment of the key into out; the rest after the slash, or NULL. */
static const char *take_segment(const char *key, char *out, size_t size)
{
	size_t len = strcspn(key, "/");
	if (len == 0 || len >= size || key[len] != '/')
		return NULL;
	memcpy(out, key, len);
	out[len] = '\0';
	return key + len + 1;
}

int report_path_parse(const char *key, struct report_path *out)
{
	char folder[sizeof out->session + UID_PART + 1];
	*out = (struct report_path){0};
	if (!report_store_key_valid(key))
		return -1;
	const char *rest = take_segment(key, out->namespace, sizeof out->namespace);
	rest = rest ? take_segment(rest, folder, sizeof folder) : NULL;
	rest = rest ? take_segment(rest, out->pod, sizeof out->pod) : NULL;
	size_t len = rest ? strlen(rest) : 0, folder_len = rest ? strlen(folder) : 0;
	if (!rest || len == 0 || len >= sizeof out->file || strchr(rest, '/') || folder_len <= UID_PART + 1 ||
	    folder[folder_len - UID_PART - 1] != '-')
		return -1;
	memcpy(out->file, rest, len + 1);
	memcpy(out->session, folder, folder_len - UID_PART - 1);
	return 0;
}

const char *report_path_media_type(const char *file)
{
	static const char *const types[][2] = {
		{".html", "text/html; charset=utf-8"}, {".json", "application/json"},	      {".md", "text/markdown; charset=utf-8"},
		{".gz", "application/gzip"},	       {".folded", "text/plain; charset=utf-8"},
	};
	size_t len = strlen(file);
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		size_t end = strlen(types[i][0]);
		if (len > end && strcmp(file + len - end, types[i][0]) == 0)
			return types[i][1];
	}
	return "application/octet-stream";
}
