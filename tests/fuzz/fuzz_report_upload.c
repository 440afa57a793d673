/* What strangers may send to the controller's own store: a path and a query. Nothing that it did not sign is accepted, and no key that is
 * accepted has a segment that leads elsewhere. The input's first line is the key, the rest is the query. */
#include "common/base/cleanup.h"
#include "controller/store/report_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/fuzz-reports-XXXXXX";
static struct report_store *store;

static void remove_folder(void)
{
	char command[80];
	report_store_free(store);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	if (system(command) != 0)
		abort();
}

static void open_store(void)
{
	if (!mkdtemp(folder))
		abort();
	struct report_store_options o = {.folder = folder, .quota_bytes = 1000, .upload_base = "https://c:1"};
	store = report_store_new(&o, NULL);
	if (!store)
		abort();
	atexit(remove_folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A right signature, but not the bytes that it was made for: they are not kept. */
static void upload_signed(const char *key, const uint8_t *data, size_t size)
{
	static const char sha256[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
	AUTO_BUF struct buf url;
	struct err e = ERR_INIT;
	buf_init(&url, 8192);
	if (!report_store_key_valid(key) || strlen(key) > REPORT_KEY_MAX ||
	    report_store_sign(store, key, (int64_t)size % 200 + 1, sha256, 2000, &url, &e) < 0)
		return;
	const char *query = strchr(buf_str(&url), '?');
	struct report_upload *u = query ? report_upload_begin(store, key, query + 1, 1000, &e) : NULL;
	if (!u)
		return;
	if (report_upload_write(u, data, size, &e) < 0)
		report_upload_abort(u);
	else if (report_upload_commit(u, &e) == 0)
		abort();
	if (report_store_used_bytes(store) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!store)
		open_store();
	char text[2048];
	if (size >= sizeof text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	char *query = strchr(text, '\n');
	if (query)
		*query++ = '\0';
	struct err e = ERR_INIT;
	upload_signed(text, data, size);
	if (report_store_key_valid(text) && (strstr(text, "..") == text || strstr(text, "/.") || text[0] == '/'))
		abort();
	if (report_upload_begin(store, text, query ? query : "", 1000, &e) || e.kind != ERR_DENIED)
		abort();
	int64_t bytes;
	int fd = report_store_open(store, text, &bytes, &e);
	if (fd >= 0)
		abort(); /* the store is empty */
	return 0;
}
