/* The tables of an assembly's metadata, as they lie in a process's memory: where each begins, and the columns of a row. Read from outside: every count is
 * the process's word. One thread. Source: ECMA-335, II.22 and II.24.2.6. */
#ifndef DRDOTNET_METADATA_TABLES_H
#define DRDOTNET_METADATA_TABLES_H

#include "agent/locks/process_memory.h"

#define METADATA_TABLES 64
#define METADATA_COLUMNS 9

enum metadata_table {
	METADATA_MODULE = 0x00,
	METADATA_TYPE_REF = 0x01,
	METADATA_TYPE_DEF = 0x02,
	METADATA_METHOD = 0x06,
	METADATA_TYPE_SPEC = 0x1b,
	METADATA_NESTED = 0x29,
};

struct metadata_tables {
	uint64_t at[METADATA_TABLES]; /* of the first row; 0: after a table that this does not know */
	uint32_t rows[METADATA_TABLES];
	uint16_t row_bytes[METADATA_TABLES];
	bool wide_strings, wide_guids, wide_blobs; /* their offsets have four bytes, else two */
};

/* `at`: the stream of tables (#~). False: it cannot be read. */
bool metadata_tables_read(const struct process_memory *m, uint64_t at, struct metadata_tables *out);

/* The columns of a row, from 1 on; those that the table has not are 0. False: there is no such row. */
bool metadata_tables_row(const struct process_memory *m, const struct metadata_tables *t, enum metadata_table table, uint32_t row,
			 uint32_t columns[METADATA_COLUMNS]);

/* The last row of a table whose column, which grows from row to row, is at most `value`; 0: none. */
uint32_t metadata_tables_last(const struct process_memory *m, const struct metadata_tables *t, enum metadata_table table, unsigned column, uint32_t value);

#endif
