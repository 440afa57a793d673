# common/proto is linked into the profiler too; it allocates nothing and does no I/O.
PROTO_SRC := common/proto/wire.c
COMMON_SRC := $(PROTO_SRC) \
	common/base/err.c common/base/mem.c common/base/buf.c common/base/clock.c common/base/log.c \
	common/base/text.c common/base/fsio.c \
	common/api/reason.c
COMMON_SRC += common/link/link_msg.c
COMMON_SRC += common/link/link_msg_read.c
COMMON_SRC += common/link/link_msg_write.c
