/* Made-up /proc trees and diagnostics servers for the tests of discovery. A tree is a temporary folder; a server is a child
 * process, so that its pid is a real one and SO_PEERCRED tells it. Everything ends with the test. */
#ifndef TESTS_FAKE_PROC_H
#define TESTS_FAKE_PROC_H

#include "agent/diag/diag_codec.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAKE_MAX_SERVERS 32

struct fake_proc {
	char root[64]; /* stands for /proc */
	pid_t servers[FAKE_MAX_SERVERS];
	size_t server_count;
	pid_t next_pid; /* for processes without a server */
};

enum fake_behaviour {
	FAKE_ANSWERS,
	FAKE_OLD_RUNTIME,   /* knows ProcessInfo2 only, is .NET 6 */
	FAKE_SILENT,        /* accepts, never answers */
	FAKE_NEVER_ACCEPTS,
	FAKE_CLOSES,
	FAKE_GARBAGE,
	FAKE_HUGE,          /* announces the longest reply, sends little, waits */
	FAKE_SHORT,         /* a well-formed reply whose strings end early */
	FAKE_ENDLESS_COUNT, /* a string of 4 G units */
	FAKE_OTHER_PID,     /* answers for another process */
	FAKE_REFUSES,       /* an error reply */
	FAKE_TRICKLES,      /* a right answer, byte by byte */
};

static inline void fake_proc_init(struct fake_proc *f)
{
	memset(f, 0, sizeof *f);
	snprintf(f->root, sizeof f->root, "/tmp/fakeproc-XXXXXX");
	cr_assert(mkdtemp(f->root));
	f->next_pid = 4000001; /* beyond what the kernel gives by default */
}

static inline int fake_remove(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static inline void fake_proc_fini(struct fake_proc *f)
{
	for (size_t i = 0; i < f->server_count; i++) {
		kill(f->servers[i], SIGKILL);
		waitpid(f->servers[i], NULL, 0);
	}
	nftw(f->root, fake_remove, 16, FTW_DEPTH | FTW_PHYS);
}

__attribute__((format(printf, 3, 4))) static inline void fake_path(const struct fake_proc *f, char out[512], const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	int n = snprintf(out, 512, "%s/", f->root);
	vsnprintf(out + n, 512 - (size_t)n, fmt, args);
	va_end(args);
}

/* Writes a file below the tree, making its folders. */
static inline void fake_write(const struct fake_proc *f, const char *path, const void *data, size_t len)
{
	char full[512];
	fake_path(f, full, "%s", path);
	char *slash = strrchr(full, '/');
	*slash = '\0';
	cr_assert_eq(fsio_mkdir_p(full, 0755, NULL), 0);
	*slash = '/';
	int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	cr_assert_geq(fd, 0, "%s: %s", full, strerror(errno));
	cr_assert_eq(fsio_write_all(fd, data, len), 0);
	close(fd);
}

static inline void fake_text(const struct fake_proc *f, const char *path, const char *text)
{
	fake_write(f, path, text, strlen(text));
}

/* What a process looks like in the tree; zero values are the usual ones. */
struct fake_process {
	pid_t pid;              /* 0: one that nobody has */
	pid_t inner_pid;        /* 0: the same as pid */
	uint64_t start_time;
	unsigned uid;
	char state;             /* 0: S */
	int threads;            /* 0: 9 */
	pid_t tracer;
	const char *environ;    /* with \0 inside; NULL: none */
	size_t environ_len;
	const char *cgroup;     /* NULL: "0::/" */
	const char *maps;       /* NULL: a process with libcoreclr.so; "" none */
	const char *tmp;        /* NULL: "/tmp"; "" no such folder */
};

#define FAKE_CORECLR_MAPS                                                                                    \
	"7f0000000000-7f0000001000 r--p 00000000 fe:00 1 /usr/lib/x86_64-linux-gnu/libc.so.6\n"             \
	"7f1000000000-7f1000400000 r-xp 00001000 fe:00 42 /usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.12/libcoreclr.so\n"

static inline pid_t fake_process(struct fake_proc *f, const struct fake_process *p)
{
	pid_t pid = p->pid ? p->pid : f->next_pid++;
	char path[128], text[1024], full[512];
	snprintf(path, sizeof path, "%d/stat", pid);
	snprintf(text, sizeof text, "%d (dot) net)) %c 1 1 1 0 -1 4194304 1 0 2 0 11 22 0 0 20 0 %d 0 %llu 537 63 18446744073709551615 1 1\n",
		 pid, p->state ? p->state : 'S', p->threads ? p->threads : 9, (unsigned long long)p->start_time);
	fake_text(f, path, text);
	snprintf(path, sizeof path, "%d/status", pid);
	snprintf(text, sizeof text,
		 "Name:\tNSpid:\\n99\nUmask:\t0022\nState:\t%c (x)\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t1\nTracerPid:\t%d\n"
		 "Uid:\t%u\t%u\t%u\t%u\nGid:\t7\t8\t7\t7\nFDSize:\t64\nNSpid:\t%d\t%d\n",
		 p->state ? p->state : 'S', pid, pid, p->tracer, p->uid, p->uid, p->uid, p->uid, pid, p->inner_pid ? p->inner_pid : pid);
	fake_text(f, path, text);
	snprintf(path, sizeof path, "%d/cgroup", pid);
	fake_text(f, path, p->cgroup ? p->cgroup : "0::/\n");
	snprintf(path, sizeof path, "%d/environ", pid);
	fake_write(f, path, p->environ ? p->environ : "A=1", p->environ ? p->environ_len : 4);
	snprintf(path, sizeof path, "%d/maps", pid);
	fake_text(f, path, p->maps ? p->maps : FAKE_CORECLR_MAPS);
	snprintf(path, sizeof path, "%d/cmdline", pid);
	fake_write(f, path, "dotnet\0/app/\x1b[31mShop.dll\0", 26);
	fake_path(f, full, "%d/exe", pid);
	cr_assert_eq(symlink("/bin/true", full), 0);
	fake_path(f, full, "%d/root%s", pid, p->tmp && *p->tmp ? p->tmp : p->tmp ? "" : "/tmp");
	cr_assert_eq(fsio_mkdir_p(full, 0755, NULL), 0);
	if (!p->tmp || *p->tmp)
		chmod(full, 01777);
	return pid;
}

static inline void fake_put_string(struct buf *out, const char *s)
{
	uint32_t units = (uint32_t)strlen(s) + 1;
	buf_append(out, &units, 4);
	for (uint32_t i = 0; i < units; i++) {
		buf_putc(out, s[i]);
		buf_putc(out, '\0');
	}
}

/* A ProcessInfo reply for this pid. */
static inline void fake_info_reply(struct buf *out, bool info3, int64_t pid, const char *version)
{
	uint8_t header[DIAG_HEADER_SIZE] = {0};
	uint32_t layout = 1;
	char cookie[16] = "cookie cookie co";
	buf_append(out, header, sizeof header);
	if (info3)
		buf_append(out, &layout, 4);
	buf_append(out, &pid, 8);
	buf_append(out, cookie, 16);
	fake_put_string(out, "dotnet /app/Shop.dll");
	fake_put_string(out, "Linux");
#if defined(__aarch64__)
	fake_put_string(out, "arm64");
#else
	fake_put_string(out, "x64");
#endif
	fake_put_string(out, "Shop");
	fake_put_string(out, version);
	if (info3)
		fake_put_string(out, "linux-x64");
	diag_encode_header((uint8_t *)out->data, (uint16_t)out->len, DIAG_SET_SERVER, DIAG_SERVER_OK);
}

static inline void fake_send_error(int fd, uint32_t hresult)
{
	uint8_t message[DIAG_HEADER_SIZE + 4];
	diag_encode_header(message, sizeof message, DIAG_SET_SERVER, DIAG_SERVER_ERROR);
	memcpy(message + DIAG_HEADER_SIZE, &hresult, 4);
	fsio_write_all(fd, message, sizeof message);
}

static inline void fake_serve_one(int fd, enum fake_behaviour how, pid_t inner_pid)
{
	uint8_t request[4096];
	if (how == FAKE_CLOSES)
		return;
	if (recv(fd, request, sizeof request, 0) < DIAG_HEADER_SIZE)
		return;
	uint8_t command = request[17];
	struct buf reply;
	buf_init(&reply, DIAG_MESSAGE_MAX);
	fake_info_reply(&reply, command == DIAG_PROCESS_INFO3, how == FAKE_OTHER_PID ? inner_pid + 1 : inner_pid,
			how == FAKE_OLD_RUNTIME ? "6.0.36+abcdef" : "10.0.12+0123456789abcdef");
	switch (how) {
	case FAKE_OLD_RUNTIME:
		if (command != DIAG_PROCESS_INFO2) {
			fake_send_error(fd, DIAG_E_UNKNOWN_COMMAND);
			break;
		}
		fsio_write_all(fd, reply.data, reply.len);
		break;
	case FAKE_SILENT:
		sleep(60);
		break;
	case FAKE_GARBAGE:
		fsio_write_all(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
		break;
	case FAKE_HUGE:
		diag_encode_header((uint8_t *)reply.data, 65535, DIAG_SET_SERVER, DIAG_SERVER_OK);
		fsio_write_all(fd, reply.data, reply.len);
		sleep(60);
		break;
	case FAKE_SHORT:
		diag_encode_header((uint8_t *)reply.data, 60, DIAG_SET_SERVER, DIAG_SERVER_OK);
		fsio_write_all(fd, reply.data, 60);
		break;
	case FAKE_ENDLESS_COUNT:
		memset(reply.data + DIAG_HEADER_SIZE + 28, 0xFF, 4);
		fsio_write_all(fd, reply.data, reply.len);
		break;
	case FAKE_REFUSES:
		fake_send_error(fd, 0x80004005u);
		break;
	case FAKE_TRICKLES:
		for (size_t i = 0; i < reply.len; i++) {
			fsio_write_all(fd, reply.data + i, 1);
			usleep(200);
		}
		break;
	default:
		fsio_write_all(fd, reply.data, reply.len);
	}
	buf_fini(&reply);
}

/* Binds a socket at this path whatever its length. */
static inline int fake_listen(const char *path)
{
	char folder[512];
	snprintf(folder, sizeof folder, "%s", path);
	*strrchr(folder, '/') = '\0';
	cr_assert_eq(fsio_mkdir_p(folder, 0755, NULL), 0);
	int dir = open(folder, O_PATH | O_DIRECTORY), fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	snprintf(to.sun_path, sizeof to.sun_path, "/proc/self/fd/%d/%.60s", dir, strrchr(path, '/') + 1);
	cr_assert_eq(bind(fd, (struct sockaddr *)&to, sizeof to), 0, "%s: %s", path, strerror(errno));
	close(dir);
	return fd;
}

/* A server's process, not yet listening; it does so when fake_serve() writes to it. Made first, because the tree and the
 * socket's place are named by its pid. */
struct fake_server {
	pid_t pid;
	int go;
};

static inline void fake_server_loop(int go, enum fake_behaviour how, pid_t inner_pid)
{
	char path[512] = {0};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(go, path, sizeof path - 1) <= 0)
		_exit(0);
	int fd = fake_listen(path);
	listen(fd, how == FAKE_NEVER_ACCEPTS ? 0 : 16);
	if (write(go, "1", 1) != 1)
		_exit(1);
	for (;;) {
		if (how == FAKE_NEVER_ACCEPTS) {
			pause();
			continue;
		}
		int one = accept(fd, NULL, NULL);
		if (one < 0)
			_exit(0);
		fake_serve_one(one, how, inner_pid);
		close(one);
	}
}

static inline struct fake_server fake_server(struct fake_proc *f, enum fake_behaviour how, pid_t inner_pid)
{
	int pair[2];
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pid_t pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		close(pair[0]);
		fake_server_loop(pair[1], how, inner_pid ? inner_pid : getpid());
	}
	close(pair[1]);
	cr_assert_lt(f->server_count, FAKE_MAX_SERVERS);
	f->servers[f->server_count++] = pid;
	return (struct fake_server){pid, pair[0]};
}

/* Lets it listen at this path and waits until it does. */
static inline void fake_serve_at(struct fake_server *s, const char *path)
{
	char ready;
	cr_assert_eq(fsio_write_all(s->go, path, strlen(path)), 0);
	cr_assert_eq(read(s->go, &ready, 1), 1);
}

static inline void fake_serve(struct fake_proc *f, struct fake_server *s, const char *inner_path)
{
	char full[512];
	fake_path(f, full, "%d/root%s", s->pid, inner_path);
	fake_serve_at(s, full);
}

#endif
