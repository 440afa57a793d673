#include "profiler/requests/grpc_method_il.h"

#include <criterion/criterion.h>
#include <string.h>

#define TOKEN(n) (n), 0, 0, 0x70
#define FIELD(n) (n), 0, 0, 0x04

/* What the compiler makes of a service with a unary method, of which it has a marshaller, and a duplex one. */
static const uint8_t code[] = {
	0x72, TOKEN(1), 0x80, FIELD(9),                                             /* __ServiceName */
	0x14, 0xfe, 0x06, 1, 0, 0, 6, 0x73, 1, 0, 0, 10, 0x80, FIELD(10),            /* ldnull, ldftn, newobj, stsfld */
	0x7e, FIELD(11), 0x25, 0x2d, 0x02, 0x26, 0x14,                              /* ldsfld, dup, brtrue.s, pop, ldnull */
	0x45, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0,                                    /* switch */
	0x16, 0x7e, FIELD(9), 0x72, TOKEN(2), 0x7e, FIELD(10), 0x73, 1, 0, 0, 10, 0x80, FIELD(12), /* unary */
	0x19, 0x7e, FIELD(9), 0x72, TOKEN(3), 0x80, FIELD(13),                       /* duplex */
	0x17, 0x7e, FIELD(8), 0x72, TOKEN(4),                                       /* of no service */
	0x2a,
};

static unsigned read_code(size_t code_len, struct grpc_method_il *out, unsigned most)
{
	uint8_t body[12 + sizeof code] = {0x13, 0x30, 4, 0, (uint8_t)code_len};
	memcpy(body + 12, code, sizeof code);
	return grpc_method_il_read(body, sizeof body, out, most);
}

Test(grpc_method_il, methods_and_the_kinds_of_their_calls)
{
	struct grpc_method_il found[8];
	cr_assert_eq(read_code(sizeof code, found, 8), 2);
	cr_expect(found[0].service == 0x70000001 && found[0].name == 0x70000002 && found[0].kind == GRPC_UNARY);
	cr_expect(found[1].service == 0x70000001 && found[1].name == 0x70000003 && found[1].kind == GRPC_DUPLEX);
	cr_expect_eq(read_code(sizeof code, found, 1), 1);
}

Test(grpc_method_il, bodies_that_do_not_fit)
{
	struct grpc_method_il found[8];
	for (size_t len = 0; len < sizeof code; len++)
		cr_expect(read_code(len, found, 8) <= 2);
	cr_expect_eq(read_code(sizeof code + 1, found, 8), 0, "longer than it is");
	cr_expect_eq(grpc_method_il_read(code, 0, found, 8), 0);
	const uint8_t tiny[] = {(11 << 2) | 2, 0x72, TOKEN(1), 0x80, FIELD(9), 0x2a}, neither[] = {0x00, 0x2a};
	cr_expect_eq(grpc_method_il_read(tiny, sizeof tiny, found, 8), 0);
	cr_expect_eq(grpc_method_il_read(neither, sizeof neither, found, 8), 0);
	const uint8_t wide[] = {(9 << 2) | 2, 0x45, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0};
	cr_expect_eq(grpc_method_il_read(wide, sizeof wide, found, 8), 0, "a switch with more targets than there is code");
}
