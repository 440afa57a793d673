#include "profiler/requests/grpc_methods.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static int find(const char *path)
{
	static uint8_t units[512];
	size_t n = strlen(path);
	for (size_t i = 0; i < n; i++) {
		units[2 * i] = (uint8_t)path[i];
		units[2 * i + 1] = 0;
	}
	return grpc_methods_find(&(struct event_text){units, n});
}

Test(grpc_methods, are_found_by_their_whole_path)
{
	grpc_methods_reset();
	cr_expect_eq(find("/shop.Prices/Watch"), -1);
	grpc_methods_add("/shop.Prices/Get", GRPC_UNARY);
	grpc_methods_add("/shop.Prices/Watch", GRPC_SERVER_STREAMING);
	grpc_methods_add("/shop.Prices/Watch", GRPC_DUPLEX); /* what is known stays */
	cr_expect_eq(find("/shop.Prices/Get"), GRPC_UNARY);
	cr_expect_eq(find("/shop.Prices/Watch"), GRPC_SERVER_STREAMING);
	cr_expect_eq(find("/shop.Prices/Watc"), -1);
	cr_expect_eq(find("/shop.Prices/watch"), -1);
	cr_expect_eq(find("/"), -1);
	uint8_t far[] = {'/', 1, 'a', 0, '/', 0, 'b', 0};
	cr_expect_eq(grpc_methods_find(&(struct event_text){far, 4}), -1);
	grpc_methods_reset();
	cr_expect_eq(find("/shop.Prices/Get"), -1);
}

Test(grpc_methods, are_bounded)
{
	char path[GRPC_PATH_BYTES + 8];
	grpc_methods_reset();
	for (unsigned i = 0; i < 2 * GRPC_METHODS_MOST; i++) {
		snprintf(path, sizeof path, "/shop.Many/M%u", i);
		grpc_methods_add(path, i % 4);
	}
	for (unsigned i = 0; i < 2 * GRPC_METHODS_MOST; i++) {
		snprintf(path, sizeof path, "/shop.Many/M%u", i);
		cr_assert_eq(find(path), i < GRPC_METHODS_MOST ? (int)(i % 4) : -1);
	}
	memset(path, 'a', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	grpc_methods_reset();
	grpc_methods_add(path, GRPC_UNARY);
	cr_expect_eq(find(path), -1);
	grpc_methods_reset();
}
