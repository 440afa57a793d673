# common/proto is linked into the profiler too; it allocates nothing and does no I/O.
PROTO_SRC := common/proto/wire.c common/proto/channel.c
COMMON_SRC := $(PROTO_SRC) \
	common/base/err.c common/base/mem.c common/base/buf.c common/base/clock.c common/base/log.c \
	common/base/text.c common/base/fsio.c \
	common/api/reason.c
COMMON_SRC += common/link/link_msg.c
COMMON_SRC += common/link/link_msg_read.c
COMMON_SRC += common/link/link_msg_write.c
COMMON_SRC += common/base/jsonx.c common/base/yaml_json.c common/base/http.c common/base/http_url.c
COMMON_SRC += common/api/session_spec.c common/api/label_selector.c common/api/session_manifest.c
COMMON_SRC += common/base/base64.c
COMMON_SRC += common/base/daemon.c
COMMON_SRC += common/link/session_cost.c
COMMON_SRC += common/link/link_observation.c
COMMON_SRC += common/link/link_process.c
COMMON_SRC += common/link/link_frame.c
COMMON_SRC += $(if $(filter faults,$(FLAVOUR)),common/base/step.c)
COMMON_SRC += common/report/report_diff.c common/report/report_diff_cpu.c common/report/report_diff_file.c
