/* What getdents64(2) gives: libc has it behind readdir(3) only, which allocates. */
#ifndef DRDOTNET_LINUX_DIRENT_H
#define DRDOTNET_LINUX_DIRENT_H

#include <stdint.h>

struct linux_dirent64 {
	uint64_t inode;
	int64_t offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

#endif
