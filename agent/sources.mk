AGENT_SRC :=
AGENT_SRC += agent/cli/cli_options.c
AGENT_SRC += agent/cli/cli_library.c
AGENT_SRC += agent/cli/cli_target.c
AGENT_SRC += agent/cli/cli_output.c agent/cli/cli_typeset.c
AGENT_SRC += agent/cli/cli_run.c
AGENT_SRC += agent/cli/cli_diff.c
AGENT_SRC += common/base/size_text.c
AGENT_SRC += agent/stacks/capture.c
AGENT_SRC += common/base/index_set.c
AGENT_SRC += agent/stacks/ip_table.c
AGENT_SRC += agent/stacks/raw_stacks.c
AGENT_SRC += agent/stacks/cpu_threads.c
AGENT_SRC += agent/stacks/cpu_collect.c
AGENT_SRC += agent/stacks/frame_namer.c
AGENT_SRC += agent/perf/secret_memory.c agent/perf/pending_samples.c agent/stacks/stack_unwind.c
AGENT_SRC += agent/stacks/code_bodies.c agent/stacks/code_client.c
AGENT_SRC += agent/profilers/cpu/cpu_session.c
AGENT_SRC += agent/session/attached_session.c agent/session/attached_collect.c
AGENT_SRC += agent/session/session_ending.c agent/report/session_facts.c agent/report/limits.c
AGENT_SRC += agent/stacks/cpu_account.c
AGENT_SRC += agent/report/phrase.c
AGENT_SRC += agent/attach/session_attach.c
AGENT_SRC += agent/session/session.c agent/profilers/profilers.c
AGENT_SRC += agent/target/apart.c
AGENT_SRC += agent/perf/perf_record.c
AGENT_SRC += agent/perf/perf_ring.c
AGENT_SRC += agent/perf/perf_permission.c
AGENT_SRC += agent/perf/perf_group.c agent/perf/perf_opener.c agent/perf/perf_sampler.c agent/perf/perf_pump.c
AGENT_SRC += agent/host/maps.c
AGENT_SRC += agent/symbols/elf_symbols.c
AGENT_SRC += agent/symbols/kernel_symbols.c
AGENT_SRC += agent/symbols/native_symbols.c
AGENT_MAIN := agent/agent_main.c
DRDOTNET_MAIN := agent/drdotnet_main.c
# finding processes and talking to them
AGENT_SRC += \
	agent/host/proc.c \
	agent/host/elf_probe.c \
	agent/host/rights.c \
	agent/host/runtime_kind.c \
	agent/host/sandbox_kind.c \
	agent/host/cgroup.c \
	agent/host/cgroup_dir.c \
	agent/host/cgroup_path.c \
	agent/target/target.c \
	agent/target/target_fs.c \
	agent/discover/discover.c \
	agent/discover/discover_host.c \
	agent/discover/discover_shared.c \
	agent/discover/discover_query.c \
	agent/diag/diag_codec.c \
	agent/diag/diag_env.c \
	agent/diag/diag_environment.c \
	agent/diag/diag_exchange.c \
	agent/diag/diag_ipc.c \
	agent/diag/diag_socket.c \
	agent/discover/preflight.c \
	agent/host/process_state.c \
	agent/attach/stage.c \
	agent/attach/stage_sweep.c \
	agent/discover/shared_tmp.c \
	agent/cli/ps.c
# the other end of the profiler library
AGENT_SRC += \
	agent/attach/profiler_channel.c \
	agent/attach/channel_input.c \
	agent/attach/channel_accept.c \
	agent/attach/channel_samples.c \
	agent/attach/channel_collections.c \
	agent/attach/function_cache.c
AGENT_SRC += agent/jobs/upload.c
AGENT_SRC += agent/jobs/spool.c
AGENT_SRC += agent/jobs/spool_state.c
# GCSurvivors
AGENT_SRC += \
	agent/profilers/survivors/survivors_tree.c \
	agent/profilers/survivors/survivors_types.c \
	agent/profilers/survivors/survivors.c \
	agent/profilers/survivors/survivors_text.c \
	agent/profilers/survivors/survivors_advice.c \
	agent/profilers/survivors/survivors_finding.c \
	agent/profilers/survivors/survivors_diagnosis.c \
	agent/profilers/survivors/survivors_summary.c \
	agent/profilers/survivors/survivors_json.c \
	agent/profilers/survivors/survivors_page.c \
	agent/profilers/survivors/survivors_page_data.c \
	agent/profilers/survivors/survivors_report.c \
	agent/profilers/survivors/survivors_session.c
# the links to the controllers, and their orders
AGENT_SRC += \
	agent/link/link_policy.c \
	agent/link/resolver.c \
	agent/link/link_client.c \
	agent/link/link_session.c \
	agent/jobs/job_table.c \
	agent/jobs/jobs.c \
	agent/jobs/job_worker.c \
	agent/jobs/job_delivery.c \
	agent/observe/usage_query.c agent/observe/process_answer.c \
	agent/observe/observe_step.c \
	agent/observe/observe_group.c \
	agent/observe/observe.c \
	agent/daemon/agent_options.c \
	agent/daemon/health_socket.c \
	agent/daemon/agent.c
# from a capture to the report files
AGENT_SRC += \
	agent/symbols/span.c \
	agent/symbols/csharp_type.c \
	agent/symbols/csharp_member.c \
	agent/symbols/method_name.c \
	agent/symbols/native_name.c \
	agent/stacks/stack_threads.c \
	agent/stacks/cpu_analysis.c \
	agent/stacks/cpu_edges.c \
	agent/stacks/cpu_category.c \
	agent/stacks/cpu_method_table.c \
	agent/stacks/cpu_phrase.c \
	agent/profilers/cpu/cpu_headline.c \
	agent/profilers/cpu/cpu_explain.c \
	agent/profilers/cpu/cpu_diagnosis.c \
	agent/profilers/cpu/cpu_profile.c \
	agent/stacks/stack_tree.c \
	agent/report/report_file.c \
	agent/report/report_assets.c \
	agent/stacks/report_folded.c \
	agent/stacks/report_html_data.c \
	agent/report/report_head.c agent/report/report_json.c agent/report/report_markdown.c agent/report/report_page.c \
	agent/stacks/report_tree.c agent/profilers/cpu/cpu_json.c agent/profilers/cpu/cpu_page.c agent/profilers/cpu/cpu_summary.c agent/profilers/cpu/cpu_report.c \
	agent/stacks/report_pprof.c \
	agent/stacks/report_speedscope.c \
	agent/report/report.c
# what grows: the MemoryLeak profiler
AGENT_SRC += \
	agent/profilers/leak/memory_account.c \
	agent/profilers/leak/memory_growth.c \
	agent/profilers/leak/leak_curve.c \
	agent/profilers/leak/leak_plan.c \
	agent/profilers/leak/leak_model.c \
	agent/profilers/leak/leak_verdict.c \
	agent/profilers/leak/leak_pattern.c \
	agent/profilers/leak/leak_group.c \
	agent/profilers/leak/leak_limit.c \
	agent/profilers/leak/leak_path.c \
	agent/profilers/leak/leak_words.c \
	agent/profilers/leak/leak_headline.c \
	agent/profilers/leak/leak_lines.c \
	agent/profilers/leak/leak_finding.c \
	agent/profilers/leak/leak_take.c \
	agent/profilers/leak/leak_types.c \
	agent/profilers/leak/leak_json.c \
	agent/profilers/leak/leak_summary.c \
	agent/profilers/leak/leak_page.c \
	agent/profilers/leak/leak_report.c \
	agent/profilers/leak/leak_session.c
# DuplicatedStrings
AGENT_SRC += \
	agent/profilers/strings/address_list.c \
	agent/profilers/strings/string_filter.c \
	agent/profilers/strings/string_groups.c \
	agent/profilers/strings/string_holders.c \
	agent/profilers/strings/string_paths.c \
	agent/profilers/strings/string_remedy.c \
	agent/profilers/strings/strings_analysis.c \
	agent/profilers/strings/strings_list.c \
	agent/profilers/strings/strings_value.c \
	agent/profilers/strings/strings_phrase.c \
	agent/profilers/strings/strings_diagnosis.c \
	agent/profilers/strings/strings_json.c \
	agent/profilers/strings/strings_summary.c \
	agent/profilers/strings/strings_page.c \
	agent/profilers/strings/strings_report.c \
	agent/profilers/strings/strings_session.c
AGENT_PROTO := agent/stacks/profile.proto
# the local web page and REST API
AGENT_SRC += \
	agent/serve/serve_document.c \
	agent/serve/serve_processes.c \
	agent/serve/serve_folder.c \
	agent/serve/serve_run.c \
	agent/serve/serve_sessions.c \
	agent/serve/serve_token.c \
	agent/serve/serve_backend.c \
	agent/serve/serve.c
# the heap: the walk's stream, snapshots
AGENT_SRC += \
	agent/heap/heap_store.c \
	agent/heap/heap_type_name.c \
	agent/heap/heap_snapshot.c \
	agent/heap/heap_builder.c \
	agent/heap/heap_drain.c \
	agent/heap/heap_choice.c \
	agent/heap/heap_client.c \
	agent/heap/heap_label.c \
	agent/heap/heap_walk.c
# its graph
AGENT_SRC += \
	agent/heap/heap_budget.c \
	agent/heap/heap_counts.c \
	agent/heap/heap_room.c \
	agent/heap/heap_share.c \
	agent/heap/heap_gaps.c agent/heap/heap_forecast.c \
	agent/heap/heap_memory.c \
	agent/heap/heap_index.c \
	agent/heap/heap_rows.c \
	agent/heap/heap_nodes.c \
	agent/heap/heap_scan.c \
	agent/heap/heap_fill.c \
	agent/heap/heap_arcs.c \
	agent/heap/heap_search.c \
	agent/heap/heap_dominate.c \
	agent/heap/heap_merge.c \
	agent/heap/heap_graph.c \
	agent/heap/heap_fields.c \
	agent/heap/heap_paths.c \
	agent/heap/heap_totals.c \
	agent/heap/heap_dominators.c
# allocations
AGENT_SRC += \
	agent/profilers/allocs/allocs_channel.c \
	agent/profilers/allocs/alloc_estimate.c \
	agent/profilers/allocs/alloc_collect.c \
	agent/profilers/allocs/alloc_analysis.c \
	agent/profilers/allocs/alloc_diagnosis.c \
	agent/profilers/allocs/alloc_json.c \
	agent/profilers/allocs/alloc_summary.c \
	agent/profilers/allocs/alloc_page.c \
	agent/profilers/allocs/alloc_report.c \
	agent/profilers/allocs/alloc_session.c
# pauses of the runtime
AGENT_SRC += \
	agent/profilers/pauses/pause_frames.c \
	agent/profilers/pauses/pause_capture.c \
	agent/profilers/pauses/pause_collect.c \
	agent/profilers/pauses/pause_sample.c \
	agent/profilers/pauses/pause_analysis.c \
	agent/profilers/pauses/pause_diagnosis.c \
	agent/profilers/pauses/pause_json.c \
	agent/profilers/pauses/pause_summary.c \
	agent/profilers/pauses/pause_page.c \
	agent/profilers/pauses/pause_report.c \
	agent/profilers/pauses/thread_name.c \
	agent/profilers/pauses/pause_session.c
