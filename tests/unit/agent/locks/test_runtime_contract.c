#include "agent/locks/runtime_contract.h"

#include <criterion/criterion.h>
#include <string.h>

/* As .NET 10 says it, and what else it says left out. */
static const char said[] =
	"{\"version\":0,\"baseline\":\"empty\",\"types\":{\"Thread\":{\"Id\":16,\"OSId\":296,\"GCHandle\":[304,\"GCHandle\"],\"LinkNext\":[112,\"pointer\"]},"
	"\"ThreadStore\":{\"FirstThreadLink\":88},\"MethodTable\":{\"MTFlags\":0,\"BaseSize\":4,\"MTFlags2\":8,\"EEClassOrCanonMT\":40,\"Module\":24},"
	"\"EEClass\":{\"MethodTable\":16},\"Module\":{\"Base\":224}},\"globals\":{\"ThreadStore\":[[1],\"pointer\"],\"StringMethodTable\":[[2],\"pointer\"]}}";
static const uint64_t pointers[] = {0, 0x1000, 0x2000};

Test(runtime_contract, tells_offsets_and_variables)
{
	struct runtime_contract c;
	cr_assert(runtime_contract_parse(said, strlen(said), pointers, 3, &c));
	cr_assert_eq(c.thread_handle, 304);
	cr_assert_eq(c.module_base, 224);
	cr_assert_eq(c.thread_store, 0x1000);
	cr_assert_eq(c.string_class, 0x2000);
}

Test(runtime_contract, what_lacks_something_tells_nothing)
{
	static const char *const without[] = {"\"OSId\":296", "\"Base\":224", "\"ThreadStore\":[[1],\"pointer\"]"};
	struct runtime_contract c;
	cr_assert_not(runtime_contract_parse(said, strlen(said), pointers, 2, &c), "a pointer beyond those that there are");
	cr_assert_not(c.known);
	for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
		char text[sizeof said];
		memcpy(text, said, sizeof said);
		strstr(text, without[i])[1] = 'X';
		cr_assert_not(runtime_contract_parse(text, strlen(text), pointers, 3, &c), "%s", without[i]);
	}
	cr_assert_not(runtime_contract_parse("[]", 2, pointers, 3, &c));
	cr_assert_not(runtime_contract_parse("{\"types\":{\"Thread\":{\"Id\":-1}}}", 31, pointers, 3, &c));
	cr_assert_not(runtime_contract_parse("", 0, pointers, 3, &c));
}
