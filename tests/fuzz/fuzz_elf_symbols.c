/* A library of a pod, read for the names of its functions. The first 8 bytes are the address that is looked for. What is read grows with the
 * file. */
#include "agent/symbols/aot_name.h"
#include "agent/symbols/elf_debug.h"
#include "agent/symbols/elf_symbols.h"
#include "agent/symbols/native_symbols.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STEPS_LEAST 17408 /* all sections may be named, and none be there */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct elf_symbols *s, uint64_t address)
{
	char name[ELF_NAME_SIZE], readable[NATIVE_NAME_SIZE];
	if (elf_symbols_name(s, address, name)) {
		if (strnlen(name, sizeof name) == sizeof name)
			abort();
		struct aot_name method;
		if (aot_name_of(name, "Shop", &method) && (!method.method[0] || !method.type[0]))
			abort();
		native_demangle(name, readable);
		if (strnlen(readable, sizeof readable) == sizeof readable)
			abort();
	}
	if (elf_symbols_function_start(s, address) > address)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_symbols s;
	struct err e = ERR_INIT;
	struct work_budget budget;
	uint64_t place, address;
	if (size < sizeof place)
		return 0;
	memcpy(&place, data, sizeof place);
	int fd = memfd_create("elf", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data + sizeof place, size - sizeof place) != (ssize_t)(size - sizeof place))
		abort();
	work_budget_begin_anew(&budget, WORK_SYMBOLS);
	struct elf_debug debug;
	elf_debug_read(fd, &budget, &debug);
	if (debug.build_id_bytes > ELF_BUILD_ID_BYTES || strnlen(debug.link, ELF_LINK_SIZE) == ELF_LINK_SIZE || strchr(debug.link, '/'))
		abort();
	if (elf_symbols_load_take(&s, fd, &budget, &e) < 0)
		return 0;
	look(&s, place);
	if (elf_symbols_address(&s, place, &address))
		look(&s, address);
	for (size_t i = 0; i < s.symbol_count && i < 16; i++)
		look(&s, s.symbols[i].value);
	if (budget.steps > STEPS_LEAST + size)
		abort();
	elf_symbols_fini(&s);
	return 0;
}
