# common/proto is linked into the profiler too; it allocates nothing and does no I/O.
PROTO_SRC := $(sort $(wildcard common/proto/*.c))
COMMON_SRC := $(filter-out $(if $(filter faults,$(FLAVOUR)),,common/base/step.c),$(sort $(wildcard common/*/*.c)))
