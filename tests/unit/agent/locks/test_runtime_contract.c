#include "agent/locks/runtime_contract.h"

#include <criterion/criterion.h>
#include <string.h>

/* As .NET 10 says it, and what else it says left out. */
static const char said[] =
	"{\"version\":0,\"contracts\":{\"Thread\":1},"
	"\"types\":{\"Thread\":{\"Id\":16,\"OSId\":296,\"GCHandle\":[304,\"GCHandle\"],\"LinkNext\":[112,\"pointer\"]},"
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

/* The same of .NET 11, which calls some things otherwise, and whose monitors are objects. */
static const char said_by_11[] =
	"{\"version\":0,\"contracts\":{\"Thread\":\"c1\"},\"types\":{\"Thread\":{\"Id\":16,\"OSId\":224,\"ExposedObject\":232,\"LinkNext\":112},"
	"\"SyncBlock\":{\"InteropInfo\":16,\"Lock\":8},"
	"\"ThreadStore\":{\"FirstThreadLink\":88},\"MethodTable\":{\"MTFlags\":0,\"BaseSize\":4,\"MTFlags2\":8,\"EEClassOrCanonMT\":40,\"Module\":24},"
	"\"EEClass\":{\"MethodTable\":16},\"Module\":{\"Base\":224}},\"globals\":{\"ThreadStore\":[[1],\"pointer\"],\"StringMethodTable\":[[2],\"pointer\"],"
	"\"MethodDescTokenRemainderBitCount\":\"0xc\"}}";

Test(runtime_contract, of_11_tells_of_monitors_that_are_objects)
{
	struct runtime_contract c;
	cr_assert(runtime_contract_parse(said_by_11, strlen(said_by_11), pointers, 3, &c));
	cr_assert_eq(c.thread_handle, 232);
	cr_assert(c.links_are_threads && c.monitors_are_locks);
	cr_assert_eq(c.monitor_lock, 8);
	cr_assert_eq(c.code.token_bits, 12);
	cr_assert(runtime_contract_parse(said, strlen(said), pointers, 3, &c));
	cr_assert_not(c.links_are_threads || c.monitors_are_locks);
}

Test(runtime_contract, of_a_version_that_is_not_known_tells_nothing)
{
	static const char *const others[][2] = {{"\"Thread\":1}", "\"Thread\":2}"}, {"\"Thread\":1}", "\"Thread\":0}"}, {"\"Thread\":1}", "\"Threat\":1}"}};
	struct runtime_contract c;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		char text[sizeof said];
		memcpy(text, said, sizeof said);
		memcpy(strstr(text, others[i][0]), others[i][1], strlen(others[i][1]));
		cr_assert_not(runtime_contract_parse(text, strlen(text), pointers, 3, &c), "%s", others[i][1]);
		cr_assert(c.told && !c.known, "and is not taken for .NET 8");
		cr_assert_not_null(runtime_contract_unread(&c));
	}
	runtime_contract_parse(said, strlen(said), pointers, 3, &c);
	cr_assert_null(runtime_contract_unread(&c));
	runtime_contract_of_8(&c);
	cr_assert_null(runtime_contract_unread(&c));
}

/* What .NET 9 says of methods, and with the second part what .NET 10 adds on where their code lies. */
#define METHODS                                                                                                                                    \
	"\"MethodDesc\":{\"ChunkIndex\":2,\"Slot\":4,\"Flags\":6,\"Flags3AndTokenRemainder\":0},\"MethodDescChunk\":{\"!\":24,\"MethodTable\":0,"            \
	"\"FlagsAndTokenRange\":18},\"InstantiatedMethodDesc\":{\"PerInstInfo\":24,\"NumGenericArgs\":34},\"MethodTable\":{\"PerInstInfo\":48},"             \
	"\"GenericsDictInfo\":{\"NumTypeArgs\":6},\"DynamicMethodDesc\":{\"MethodName\":32},\"TypeDesc\":{\"TypeAndFlags\":0},"                              \
	"\"ParamTypeDesc\":{\"TypeArg\":16}"
#define BITS "\"MethodDescTokenRemainderBitCount\":[\"0xc\",\"uint8\"]"

Test(runtime_contract, tells_where_code_lies_or_leaves_it_as_it_was_measured)
{
	static const char nine[] = "{\"types\":{" METHODS "},\"globals\":{" BITS "}}";
	static const char ten[] = "{\"types\":{" METHODS ",\"Module\":{\"ReadyToRunInfo\":704},\"ReadyToRunInfo\":{\"EntryPointToMethodDescMap\":360}},"
				  "\"globals\":{" BITS ",\"ExecutionManagerCodeRangeMapAddress\":[[1],\"pointer\"]}}";
	static const char wrong[] = "{\"types\":{" METHODS ",\"RealCodeHeader\":{\"MethodDesc\":\"24\"}},\"globals\":{" BITS "}}";
	struct runtime_contract c;
	runtime_contract_parse(nine, strlen(nine), pointers, 3, &c);
	cr_assert(c.code.known);
	cr_assert_eq(c.code.token_bits, 12);
	cr_assert_eq(c.code.chunk_bytes, 24);
	cr_assert_eq(c.code.module_images, 984);
	cr_assert_eq(c.code.ranges, 0);
	runtime_contract_parse(ten, strlen(ten), pointers, 3, &c);
	cr_assert(c.code.known);
	cr_assert_eq(c.code.module_images, 704);
	cr_assert_eq(c.code.images_methods, 360);
	cr_assert_eq(c.code.ranges, 0x1000);
	runtime_contract_parse(wrong, strlen(wrong), pointers, 3, &c);
	cr_assert_not(c.code.known, "told, and no number");
	runtime_contract_parse(said, strlen(said), pointers, 3, &c);
	cr_assert(c.known && !c.code.known, "locks are read without it");
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
