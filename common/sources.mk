# common/proto is linked into the profiler too; it allocates nothing and does no I/O.
PROTO_SRC := common/proto/wire.c common/proto/channel.c common/proto/channel_allocs.c common/proto/channel_stops.c \
	common/proto/heap_stream.c common/proto/heap_frames.c \
	common/proto/code_frame.c common/proto/code_frame_x64.c common/proto/code_frame_arm64.c common/proto/channel_code.c
COMMON_SRC := $(PROTO_SRC) \
	common/base/err.c common/base/mem.c common/base/buf.c common/base/clock.c common/base/log.c \
	common/base/text.c common/base/fsio.c common/base/options.c \
	common/api/reason.c
COMMON_SRC += common/link/link_msg.c
COMMON_SRC += common/link/link_msg_read.c
COMMON_SRC += common/link/link_msg_write.c
COMMON_SRC += common/base/jsonx.c common/base/yaml_json.c common/base/http.c common/base/http_url.c
COMMON_SRC += common/api/session_spec.c common/api/session_options.c common/api/label_selector.c common/api/session_manifest.c
COMMON_SRC += common/base/base64.c common/base/crypto.c
COMMON_SRC += common/base/daemon.c
COMMON_SRC += common/link/session_cost.c
COMMON_SRC += common/link/link_observation.c
COMMON_SRC += common/link/link_process.c
COMMON_SRC += common/link/link_frame.c
# the HTTP server, and the REST API on it
COMMON_SRC += \
	common/web/web_route.c \
	common/web/web_limits.c \
	common/web/web_pool.c \
	common/web/web_net.c common/web/web_tls.c \
	common/web/web_request.c \
	common/web/web_answer.c \
	common/web/web_events.c \
	common/web/web_exchange.c \
	common/web/web_send.c \
	common/web/web_conn.c \
	common/web/web_server.c \
	common/rest/rest_id.c \
	common/rest/rest_problem.c \
	common/rest/rest_openapi.c \
	common/rest/rest_profilers.c \
	common/rest/rest_sessions.c \
	common/rest/rest_reports.c \
	common/rest/rest_zip.c \
	common/rest/rest_events.c \
	common/rest/rest_diff.c \
	common/rest/rest_api.c \
	common/web_ui/page_files.c
COMMON_SRC += $(if $(filter faults,$(FLAVOUR)),common/base/step.c)
COMMON_SRC += common/report/report_diff.c common/report/report_diff_cpu.c common/report/report_diff_items.c common/report/report_diff_heap.c
COMMON_SRC += common/report/report_diff_allocations.c common/report/report_diff_pauses.c common/report/report_diff_file.c
COMMON_SRC += common/api/quantity.c
