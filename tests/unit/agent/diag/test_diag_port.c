/* A port of ours, and who comes to it. */
#include "agent/diag/diag_codec.h"
#include "agent/diag/diag_port.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

static struct diag_port port;
static char folder[sizeof((struct sockaddr_un *)0)->sun_path];

static void set_up(void)
{
	cr_assert_eq(diag_port_open(&port, NULL), 0);
	snprintf(folder, sizeof folder, "%s", port.dir);
}

static void tear_down(void)
{
	diag_port_close(&port);
	rmdir(folder);
}

TestSuite(diag_port, .init = set_up, .fini = tear_down, .timeout = 20);

static int come(const void *words, size_t len)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(at.sun_path, sizeof at.sun_path, "%s", port.path);
	cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
	cr_assert_eq(write(fd, words, len), (ssize_t)len);
	return fd;
}

static int await_advert(struct diag_visitor *v, int64_t most_ms)
{
	cr_assert_eq(diag_port_accept(&port, v), 0);
	return diag_port_await_advert(v, clock_mono_ms() + most_ms);
}

Test(diag_port, who_is_root_lets_every_user_in_and_nobody_else_write)
{
	struct stat dir, file;
	cr_assert(stat(port.dir, &dir) == 0 && stat(port.path, &file) == 0);
	cr_expect_eq(dir.st_mode & 07777, geteuid() == 0 ? 0711 : 0700);
	cr_expect(geteuid() != 0 || (file.st_mode & 07777) == 0666);
}

Test(diag_port, a_runtime_says_that_it_is_one)
{
	static const uint8_t advert[DIAG_ADVERT_SIZE] = {'A', 'D', 'V', 'R', '_', 'V', '1', 0, [24] = 7};
	static const uint8_t other[DIAG_ADVERT_SIZE] = "GET / HTTP/1.1\r\n";
	struct diag_visitor v;
	cr_expect_eq(diag_port_accept(&port, &v), -1, "nobody is there");

	AUTO_FD int one = come(advert, sizeof advert);
	cr_expect_eq(await_advert(&v, 10000), 0);
	cr_expect(v.pid == getpid() && v.uid == geteuid());
	close(v.fd);

	AUTO_FD int two = come(other, sizeof other);
	cr_expect_eq(await_advert(&v, 10000), -1, "somebody else");
	close(v.fd);

	AUTO_FD int three = come(advert, sizeof advert - 1);
	cr_expect_eq(await_advert(&v, 10), -1, "not all of it in time");
	close(v.fd);
}

Test(diag_port, nobody_waits_at_it)
{
	AUTO_FREE char *alone = diag_port_variable(&port, NULL), *after = diag_port_variable(&port, "/their/port,suspend");
	cr_expect_eq(strncmp(alone, port.path, strlen(port.path)), 0);
	cr_expect_str_eq(alone + strlen(port.path), ",nosuspend");
	cr_expect_eq(strncmp(after, "/their/port,suspend;", 20), 0);
	cr_expect_str_eq(after + 20, alone);
}

Test(diag_port, the_folder_stays_with_who_would_come_again)
{
	AUTO_FREE char *ports = diag_port_variable(&port, NULL);
	cr_expect_eq(diag_port_find_user(&port, false), 0);
	pid_t pid = fork();
	if (pid == 0) {
		setenv("DOTNET_DiagnosticPorts", ports, 1);
		execlp("sleep", "sleep", "60", NULL);
		_exit(1);
	}
	while (diag_port_find_user(&port, false) != pid)
		;
	cr_expect_eq(diag_port_find_user(&port, true), 0, "it is no .NET process");
	diag_port_close(&port);
	cr_expect_eq(rmdir(folder), 0, "an empty folder");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
