#include "profiler/requests/unanswered.h"

#include "profiler/base/now.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

Test(unanswered, who_has_spoken_last)
{
	cr_expect_not(unanswered_waits(0, 0, 9000, 9000), "nobody has said anything");
	cr_expect(unanswered_waits(100, 0, 9000, 9000), "the first request");
	cr_expect(unanswered_waits(200, 1, 5000, 9000), "the second one");
	cr_expect_not(unanswered_waits(200, 1, 9000, 5000), "answered");
	cr_expect_not(unanswered_waits(200, 1, 5000, 5000), "answered at once");
	cr_expect_not(unanswered_waits(200, 1, 5000, 5004), "it may have been the answer's own moment");
}

static void wait_ms(long ms)
{
	nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

/* Two connections to a port of this process, of which one waits for an answer; their other ends are no port of it. */
Test(unanswered, connections_of_this_process)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof at;
	struct unanswered u;
	char c = 'x';
	int served[2], clients[2], listener = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 4) == 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	for (int i = 0; i < 2; i++) {
		clients[i] = socket(AF_INET, SOCK_STREAM, 0);
		cr_assert_eq(connect(clients[i], (struct sockaddr *)&at, sizeof at), 0);
		served[i] = accept(listener, NULL, NULL);
		cr_assert_eq(write(clients[i], &c, 1), 1);
		cr_assert_eq(read(served[i], &c, 1), 1);
	}
	wait_ms(50);
	cr_assert_eq(write(served[0], &c, 1), 1);
	wait_ms(50);
	const uint64_t began_ns = now_ns();
	wait_ms(50);
	unanswered_find(began_ns, &u);
	cr_expect_eq(u.connections, 1);
	cr_expect_geq(u.oldest_ns, 50000000);
	unanswered_find(0, &u); /* when the machine began */
	cr_expect_eq(u.connections, 0, "it is no older than the session");
	cr_assert_eq(write(clients[0], &c, 1), 1);
	cr_assert_eq(read(served[0], &c, 1), 1);
	wait_ms(100);
	unanswered_find(began_ns, &u);
	cr_expect_eq(u.connections, 1, "the other one has spoken since, however long the look comes after");
	cr_assert_eq(write(served[1], &c, 1), 1);
	unanswered_find(began_ns, &u);
	cr_expect_eq(u.connections, 0);
}
