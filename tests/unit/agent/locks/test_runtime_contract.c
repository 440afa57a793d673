#include "agent/locks/managed_threads.h"
#include "agent/locks/runtime_contract.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BASE UINT64_C(0x100000)
#define BYTES 0x4000
#include "tests/unit/agent/locks/fake_memory.h"

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

/* a descriptor that lies ------------------------------------------------------------------------------------------- */

#define TEXT 0x100
#define POINTERS 0x1000

static void put_word(size_t at, uint64_t value, size_t bytes)
{
	memcpy(memory + at, &value, bytes);
}

/* As it lies in memory: what it says, where, and how much of it. */
static void put_descriptor(const char *text)
{
	memset(memory, 0, sizeof memory);
	memcpy(memory, "DNCCDAC", 8);
	put_word(12, strlen(text), 4);
	put_word(16, BASE + TEXT, 8);
	put_word(24, 3, 4);
	put_word(32, BASE + POINTERS, 8);
	memcpy(memory + TEXT, text, strlen(text));
	memcpy(memory + POINTERS, pointers, sizeof pointers);
}

Test(runtime_contract, of_memory_is_what_it_says)
{
	struct runtime_contract c;
	put_descriptor(said);
	runtime_contract_read_at(&fake, BASE, &c);
	cr_assert(c.known);
	cr_assert_eq(c.thread_store, 0x1000);
	cr_assert_null(runtime_contract_unread(&c));
}

Test(runtime_contract, that_lies_gives_a_reason)
{
	static const struct {
		size_t at, bytes;
		uint64_t value;
		const char *why;
	} lies[] = {
		{0, 1, 'X', "the runtime's description of itself does not begin as one"},
		{12, 4, UINT32_MAX, "the runtime's description of itself is larger than any that is known"},
		{12, 4, RUNTIME_CONTRACT_TEXT_MAX + 1, "the runtime's description of itself is larger than any that is known"},
		{24, 4, RUNTIME_CONTRACT_POINTERS_MAX + 1, "the runtime's description of itself is larger than any that is known"},
		{24, 4, UINT32_MAX, "the runtime's description of itself is larger than any that is known"},
		{12, 4, BYTES, "the runtime's description of itself cannot be read to its end"},
		{16, 8, 8, "the runtime's description of itself cannot be read to its end"},
		{16, 8, UINT64_MAX, "the runtime's description of itself cannot be read to its end"},
		{32, 8, BASE + BYTES - 8, "the runtime's description of itself cannot be read to its end"},
		{12, 4, 40, "the runtime's description of itself is no JSON"},
		{12, 4, 0, "the runtime's description of itself is no JSON"},
		{TEXT, 1, '[', "the runtime's description of itself is no JSON"},
		{24, 4, 1, "Dr-Dotnet does not read the locks of this version of .NET yet"},
		{POINTERS + 8, 8, 0, "Dr-Dotnet does not read the locks of this version of .NET yet"},
	};
	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		struct runtime_contract c;
		put_descriptor(said);
		put_word(lies[i].at, lies[i].value, lies[i].bytes);
		runtime_contract_read_at(&fake, BASE, &c);
		cr_expect(c.told && !c.known, "%zu", i);
		cr_expect_str_eq(runtime_contract_unread(&c) ? runtime_contract_unread(&c) : "nothing", lies[i].why, "%zu", i);
	}
	struct runtime_contract c;
	runtime_contract_read_at(&fake, BASE + BYTES - 8, &c);
	cr_expect_str_eq(runtime_contract_unread(&c), "the runtime's description of itself cannot be read to its end");
}

/* Wherever it is cut, and whatever stands in the place of a character. */
Test(runtime_contract, that_is_damaged_anywhere_gives_a_reason_or_is_whole)
{
	for (size_t i = 0; i < sizeof said - 1; i++) {
		struct runtime_contract c;
		put_descriptor(said);
		put_word(12, i, 4);
		runtime_contract_read_at(&fake, BASE, &c);
		cr_assert(!c.known && runtime_contract_unread(&c), "cut at %zu", i);
		put_descriptor(said);
		memory[TEXT + i] ^= 0x11;
		runtime_contract_read_at(&fake, BASE, &c);
		cr_assert(c.known == !runtime_contract_unread(&c), "%zu", i);
	}
}

/* Its string class at 0x200 and a thread at 0x300, if the offsets are right. */
static const char *check_of_process(uint32_t tid, uint64_t class_leads_to)
{
	struct runtime_contract c;
	static const uint64_t variables[] = {0, BASE + 0x2000, BASE + 0x2008};
	runtime_contract_parse(said, strlen(said), variables, 3, &c);
	memset(memory, 0, sizeof memory);
	put_word(0x2000, BASE + 0x2100, 8);
	put_word(0x2008, BASE + 0x2200, 8);
	put_word(0x2100 + 88, BASE + 0x2300 + 112, 8);
	put_word(0x2200 + 40, BASE + 0x2280, 8);
	put_word(0x2280 + 16, class_leads_to, 8);
	put_word(0x2300 + 16, 1, 4);
	put_word(0x2300 + 296, tid, 8);
	int proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct managed_types *types = managed_types_new(&fake, &c);
	managed_threads_check(&fake, proc_fd, types, &c);
	managed_types_free(types);
	close(proc_fd);
	cr_assert(c.known == !runtime_contract_unread(&c));
	return runtime_contract_unread(&c);
}

Test(runtime_contract, that_leads_elsewhere_is_not_believed)
{
	uint32_t own = (uint32_t)getpid();
	cr_expect_null(check_of_process(own, BASE + 0x2200));
	cr_expect_str_eq(check_of_process(own, BASE + 0x2208), "the runtime's description of itself does not lead to its types");
	cr_expect_str_eq(check_of_process(0x7fffffff, BASE + 0x2200), "the runtime's description of itself does not lead to its threads");
	cr_expect_str_eq(check_of_process(0, BASE + 0x2200), "the runtime's description of itself does not lead to its threads");
}
