/* fake_diagnostics VERSION ARCHITECTURE: a process with the diagnostics socket of a runtime that cannot be had here: an old one,
 * or one for another processor. It answers which process it is, and nothing else; ".NET 5" does not know that question either.
 * For tests; run it under the name libcoreclr.so, as which it is then mapped. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { HEADER = 20, SET_PROCESS = 4, INFO2 = 4, INFO3 = 8, SET_SERVER = 0xff, ERROR = 0xff };

struct message {
	uint8_t bytes[1024];
	size_t len;
};

static void put(struct message *m, const void *data, size_t len)
{
	memcpy(m->bytes + m->len, data, len);
	m->len += len;
}

static void put_text(struct message *m, const char *s)
{
	uint32_t units = (uint32_t)strlen(s) + 1;
	put(m, &units, 4);
	for (uint32_t i = 0; i < units; i++)
		put(m, (char[]){s[i], 0}, 2);
}

static void begin(struct message *m, uint8_t kind)
{
	m->len = 0;
	put(m, "DOTNET_IPC_V1\0\0\0\xff\0\0\0", HEADER);
	m->bytes[17] = kind;
}

static void answer(int fd, uint8_t command, const char *version, const char *arch)
{
	struct message m;
	long major = strtol(version, NULL, 10);
	if (command == INFO2 && major >= 6) {
		int64_t pid = getpid();
		begin(&m, 0);
		put(&m, &pid, sizeof pid);
		put(&m, "cookie cookie co", 16);
		const char *const texts[] = {"/app/Checkout", "Linux", arch, "Checkout", version};
		for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
			put_text(&m, texts[i]);
	} else {
		uint32_t unknown_command = 0x80131385;
		begin(&m, ERROR);
		put(&m, &unknown_command, sizeof unknown_command);
	}
	m.bytes[14] = (uint8_t)m.len;
	m.bytes[15] = (uint8_t)(m.len >> 8);
	if (write(fd, m.bytes, m.len) < 0)
		perror("answering");
}

static void *idle(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static unsigned long long start_time(void)
{
	char text[1024] = {0};
	unsigned long long ticks = 0;
	FILE *f = fopen("/proc/self/stat", "r");
	if (f && fread(text, 1, sizeof text - 1, f) > 0) {
		char *p = strrchr(text, ')');
		for (int field = 2; p && field < 22; field++)
			p = strchr(p + 1, ' ');
		ticks = p ? strtoull(p, NULL, 10) : 0;
	}
	if (f)
		fclose(f);
	return ticks;
}

static int serve(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(to.sun_path, sizeof to.sun_path, "%.60s/dotnet-diagnostic-%d-%llu-socket", getenv("TMPDIR"), (int)getpid(), start_time());
	if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof to) < 0 || listen(fd, 16) < 0) {
		perror(to.sun_path);
		exit(1);
	}
	return fd;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	if (argc != 3 || !getenv("TMPDIR") || pthread_create(&thread, NULL, idle, NULL) != 0)
		return 2;
	int listening = serve();
	puts("{\"ready\":true}");
	fflush(stdout);
	for (;;) {
		uint8_t request[1024];
		int fd = accept(listening, NULL, NULL);
		if (fd >= 0 && recv(fd, request, sizeof request, 0) >= HEADER && request[16] == SET_PROCESS)
			answer(fd, request[17], argv[1], argv[2]);
		close(fd);
	}
}
