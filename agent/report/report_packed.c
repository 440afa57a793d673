#include "agent/report/report_packed.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>
#include <zlib.h>

#define READ_BYTES (64u * 1024)
#define PACKED_BYTES (48u * 1024) /* a multiple of 3: base64 of such pieces can be joined */

struct packing {
	struct report_file *f;
	z_stream z;
	unsigned char read[READ_BYTES], packed[PACKED_BYTES], text[PACKED_BYTES / 3 * 4 + 1];
};

static void put_packed_piece(struct packing *p)
{
	int n = EVP_EncodeBlock(p->text, p->packed, (int)(PACKED_BYTES - p->z.avail_out));
	buf_append(&p->f->text, p->text, (size_t)n);
	report_file_flow(p->f);
	p->z.next_out = p->packed;
	p->z.avail_out = PACKED_BYTES;
}

/* What was read; none: the end. */
static void pack_bytes(struct packing *p, size_t len)
{
	int state = Z_OK;
	p->z.next_in = p->read;
	p->z.avail_in = (unsigned)len;
	do {
		state = deflate(&p->z, len ? Z_NO_FLUSH : Z_FINISH);
		if (p->z.avail_out == 0 || state == Z_STREAM_END)
			put_packed_piece(p);
	} while (len ? p->z.avail_in > 0 : state == Z_OK);
}

static int pack_file(struct packing *p, int fd)
{
	for (;;) {
		ssize_t n = read(fd, p->read, READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		pack_bytes(p, (size_t)n);
		if (n == 0)
			return 0;
	}
}

void report_packed_put(struct report_file *f, const char *name)
{
	AUTO_FD int fd = openat(f->dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	AUTO_FREE struct packing *p = mem_alloc(sizeof *p);
	p->f = f;
	p->z.next_out = p->packed;
	p->z.avail_out = PACKED_BYTES;
	errno = fd < 0 ? errno : ENOMEM;
	if (fd < 0 || deflateInit2(&p->z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		f->failed_errno = f->failed_errno ? f->failed_errno : errno;
		return;
	}
	if (pack_file(p, fd) < 0 && !f->failed_errno)
		f->failed_errno = errno;
	deflateEnd(&p->z);
}
