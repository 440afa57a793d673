#include "agent/report/report_file.h"

#include "common/api/reason.h"
#include "common/base/fsio.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLOW_BYTES (64u * 1024)
#define TEXT_MAX_BYTES (4u * 1024 * 1024) /* between two flows */

static int failed(const struct report_file *f, int errnum, struct err *e)
{
	err_set_errno(e, errnum, "cannot write the report %s", f->name);
	if (e)
		e->reason = reason_of_write_error(errnum);
	return -1;
}

int report_file_begin(struct report_file *f, int dirfd, const char *name, struct err *e)
{
	uint64_t random = 0;
	*f = (struct report_file){.dirfd = dirfd, .fd = -1};
	buf_init(&f->text, TEXT_MAX_BYTES);
	f->json = jsonw_on(&f->text);
	if (getrandom(&random, sizeof random, 0) < 0)
		return err_set_errno(e, errno, "cannot get random bytes");
	snprintf(f->name, sizeof f->name, "%s", name);
	snprintf(f->temp, sizeof f->temp, ".%s.%016llx", f->name, (unsigned long long)random);
	f->hash = EVP_MD_CTX_new();
	if (!f->hash || EVP_DigestInit_ex(f->hash, EVP_sha256(), NULL) != 1)
		return err_set(e, ERR_INTERNAL, 0, "SHA-256 is not available");
	f->fd = openat(dirfd, f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (f->fd < 0)
		return failed(f, errno, e);
	return 0;
}

void report_file_write(struct report_file *f, const void *data, size_t len)
{
	if (f->failed_errno || len == 0)
		return;
	EVP_DigestUpdate(f->hash, data, len);
	f->size += (int64_t)len;
	if (fsio_write_all(f->fd, data, len) < 0)
		f->failed_errno = errno;
}

static void write_out_text(struct report_file *f)
{
	if (f->text.full && !f->failed_errno)
		f->failed_errno = EOVERFLOW;
	report_file_write(f, f->text.data, f->text.len);
	buf_reset(&f->text);
}

void report_file_flow(struct report_file *f)
{
	if (f->text.len >= FLOW_BYTES)
		write_out_text(f);
}

void report_file_number(struct report_file *f, uint64_t n)
{
	char digits[20];
	size_t at = sizeof digits;
	do
		digits[--at] = (char)('0' + n % 10);
	while (n /= 10);
	buf_append(&f->text, digits + at, sizeof digits - at);
}

int report_file_commit(struct report_file *f, const char *media_type, struct link_report *out, struct err *e)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned len = 0;
	write_out_text(f);
	if (!f->failed_errno && (fchmod(f->fd, 0644) < 0 || fdatasync(f->fd) < 0))
		f->failed_errno = errno;
	if (!f->failed_errno && renameat(f->dirfd, f->temp, f->dirfd, f->name) < 0)
		f->failed_errno = errno;
	if (f->failed_errno)
		return failed(f, f->failed_errno, e);
	f->temp[0] = '\0';
	EVP_DigestFinal_ex(f->hash, digest, &len);
	*out = (struct link_report){.size_bytes = f->size};
	memcpy(out->name, f->name, sizeof out->name);
	snprintf(out->media_type, sizeof out->media_type, "%s", media_type);
	for (unsigned i = 0; i < len && i < 32; i++)
		snprintf(out->sha256 + 2 * i, 3, "%02x", digest[i]);
	return 0;
}

void report_file_fini(struct report_file *f)
{
	if (f->temp[0] && f->fd >= 0)
		unlinkat(f->dirfd, f->temp, 0);
	if (f->fd >= 0)
		close(f->fd);
	EVP_MD_CTX_free(f->hash);
	buf_fini(&f->text);
	*f = (struct report_file){.fd = -1};
}
