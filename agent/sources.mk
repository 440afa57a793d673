AGENT_SRC :=
AGENT_SRC += agent/cli_options.c
AGENT_SRC += agent/cli_library.c
AGENT_SRC += agent/cli_target.c
AGENT_SRC += agent/cli_output.c agent/cli_typeset.c
AGENT_SRC += agent/cli_run.c
AGENT_SRC += agent/cli_diff.c
AGENT_SRC += agent/size_text.c
AGENT_SRC += agent/capture.c
AGENT_SRC += agent/index_set.c
AGENT_SRC += agent/ip_table.c
AGENT_SRC += agent/raw_stacks.c
AGENT_SRC += agent/cpu_threads.c
AGENT_SRC += agent/cpu_collect.c
AGENT_SRC += agent/frame_namer.c
AGENT_SRC += agent/secret_memory.c agent/pending_samples.c agent/stack_unwind.c
AGENT_SRC += agent/code_bodies.c agent/code_client.c
AGENT_SRC += agent/cpu_session.c
AGENT_SRC += agent/attached_session.c agent/attached_collect.c
AGENT_SRC += agent/session_ending.c agent/session_facts.c agent/limits.c
AGENT_SRC += agent/cpu_account.c
AGENT_SRC += agent/phrase.c
AGENT_SRC += agent/session_attach.c
AGENT_SRC += agent/session.c agent/profilers.c
AGENT_SRC += agent/apart.c
AGENT_SRC += agent/perf_record.c
AGENT_SRC += agent/perf_ring.c
AGENT_SRC += agent/perf_permission.c
AGENT_SRC += agent/perf_group.c agent/perf_opener.c agent/perf_sampler.c agent/perf_pump.c
AGENT_SRC += agent/maps.c
AGENT_SRC += agent/elf_symbols.c
AGENT_SRC += agent/kernel_symbols.c
AGENT_SRC += agent/native_symbols.c
AGENT_MAIN := agent/agent_main.c
DRDOTNET_MAIN := agent/drdotnet_main.c
# finding processes and talking to them
AGENT_SRC += \
	agent/proc.c \
	agent/elf_probe.c \
	agent/rights.c \
	agent/runtime_kind.c \
	agent/sandbox_kind.c \
	agent/cgroup.c \
	agent/cgroup_dir.c \
	agent/cgroup_path.c \
	agent/target.c \
	agent/target_fs.c \
	agent/discover.c \
	agent/discover_host.c \
	agent/discover_shared.c \
	agent/discover_query.c \
	agent/diag_codec.c \
	agent/diag_env.c \
	agent/diag_environment.c \
	agent/diag_exchange.c \
	agent/diag_ipc.c \
	agent/diag_socket.c \
	agent/preflight.c \
	agent/process_state.c \
	agent/stage.c \
	agent/stage_sweep.c \
	agent/shared_tmp.c \
	agent/ps.c
# the other end of the profiler library
AGENT_SRC += \
	agent/profiler_channel.c \
	agent/channel_input.c \
	agent/channel_accept.c \
	agent/channel_samples.c \
	agent/channel_collections.c \
	agent/function_cache.c
AGENT_SRC += agent/upload.c
AGENT_SRC += agent/spool.c
AGENT_SRC += agent/spool_state.c
# GCSurvivors
AGENT_SRC += \
	agent/survivors/survivors_tree.c \
	agent/survivors/survivors_types.c \
	agent/survivors/survivors.c \
	agent/survivors/survivors_text.c \
	agent/survivors/survivors_advice.c \
	agent/survivors/survivors_finding.c \
	agent/survivors/survivors_diagnosis.c \
	agent/survivors/survivors_summary.c \
	agent/survivors/survivors_json.c \
	agent/survivors/survivors_page.c \
	agent/survivors/survivors_page_data.c \
	agent/survivors/survivors_report.c \
	agent/survivors/survivors_session.c
# the links to the controllers, and their orders
AGENT_SRC += \
	agent/link_policy.c \
	agent/resolver.c \
	agent/link_client.c \
	agent/link_session.c \
	agent/job_table.c \
	agent/jobs.c \
	agent/job_worker.c \
	agent/job_delivery.c \
	agent/usage_query.c agent/process_answer.c \
	agent/observe_step.c \
	agent/observe_group.c \
	agent/observe.c \
	agent/agent_options.c \
	agent/health_socket.c \
	agent/agent.c
# from a capture to the report files
AGENT_SRC += \
	agent/span.c \
	agent/csharp_type.c \
	agent/csharp_member.c \
	agent/method_name.c \
	agent/native_name.c \
	agent/stack_threads.c \
	agent/cpu_analysis.c \
	agent/cpu_edges.c \
	agent/cpu_category.c \
	agent/cpu_method_table.c \
	agent/cpu_phrase.c \
	agent/cpu_headline.c \
	agent/cpu_explain.c \
	agent/cpu_diagnosis.c \
	agent/cpu_profile.c \
	agent/stack_tree.c \
	agent/report_file.c \
	agent/report_assets.c \
	agent/report_folded.c \
	agent/report_html_data.c \
	agent/report_head.c agent/report_json.c agent/report_markdown.c agent/report_page.c \
	agent/report_tree.c agent/cpu_json.c agent/cpu_page.c agent/cpu_summary.c agent/cpu_report.c \
	agent/report_pprof.c \
	agent/report_speedscope.c \
	agent/report.c
# what grows: the MemoryLeak profiler
AGENT_SRC += \
	agent/leak/memory_account.c \
	agent/leak/memory_growth.c \
	agent/leak/leak_curve.c \
	agent/leak/leak_plan.c \
	agent/leak/leak_model.c \
	agent/leak/leak_verdict.c \
	agent/leak/leak_pattern.c \
	agent/leak/leak_group.c \
	agent/leak/leak_limit.c \
	agent/leak/leak_path.c \
	agent/leak/leak_words.c \
	agent/leak/leak_headline.c \
	agent/leak/leak_lines.c \
	agent/leak/leak_finding.c \
	agent/leak/leak_take.c \
	agent/leak/leak_types.c \
	agent/leak/leak_json.c \
	agent/leak/leak_summary.c \
	agent/leak/leak_page.c \
	agent/leak/leak_report.c \
	agent/leak/leak_session.c
# DuplicatedStrings
AGENT_SRC += \
	agent/strings/address_list.c \
	agent/strings/string_filter.c \
	agent/strings/string_groups.c \
	agent/strings/string_holders.c \
	agent/strings/string_paths.c \
	agent/strings/string_remedy.c \
	agent/strings/strings_analysis.c \
	agent/strings/strings_list.c \
	agent/strings/strings_value.c \
	agent/strings/strings_phrase.c \
	agent/strings/strings_diagnosis.c \
	agent/strings/strings_json.c \
	agent/strings/strings_summary.c \
	agent/strings/strings_page.c \
	agent/strings/strings_report.c \
	agent/strings/strings_session.c
AGENT_PROTO := agent/profile.proto
# the local web page and REST API
AGENT_SRC += \
	agent/serve_document.c \
	agent/serve_processes.c \
	agent/serve_folder.c \
	agent/serve_run.c \
	agent/serve_sessions.c \
	agent/serve_token.c \
	agent/serve_backend.c \
	agent/serve.c
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
	agent/allocs/allocs_channel.c \
	agent/allocs/alloc_estimate.c \
	agent/allocs/alloc_collect.c \
	agent/allocs/alloc_analysis.c \
	agent/allocs/alloc_diagnosis.c \
	agent/allocs/alloc_json.c \
	agent/allocs/alloc_summary.c \
	agent/allocs/alloc_page.c \
	agent/allocs/alloc_report.c \
	agent/allocs/alloc_session.c
# pauses of the runtime
AGENT_SRC += \
	agent/pauses/pause_frames.c \
	agent/pauses/pause_capture.c \
	agent/pauses/pause_collect.c \
	agent/pauses/pause_sample.c \
	agent/pauses/pause_analysis.c \
	agent/pauses/pause_diagnosis.c \
	agent/pauses/pause_json.c \
	agent/pauses/pause_summary.c \
	agent/pauses/pause_page.c \
	agent/pauses/pause_report.c \
	agent/pauses/thread_name.c \
	agent/pauses/pause_session.c
