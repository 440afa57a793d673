# Benches: each wants the machine for itself; what they measure is in docs/decisions/. BENCH_OPTIONS go to the program.
TOOL_SRC += tests/bench/http_load.c tests/bench/latency.c tests/bench/perf_ways.c tests/bench/scale_agents.c tests/bench/heap_graph.c \
	tests/bench/heap_transport.c tests/bench/strings_analysis.c tests/bench/rules.c

.PHONY: bench-alert bench-cluster-latency bench-controller-memory bench-rest-list bench-overhead bench-latency bench-accuracy bench-page
bench-cluster-latency: ## how long users wait for samples and diagnosis, on a real API server
	+@$(MAKE) --no-print-directory -j$(JOBS) all
	@tests/apps/publish.sh net10.0
	@PYTHONPATH=. python3 tests/bench/cluster_latency.py

bench-alert: ## from an alert at the webhook to its session, and what 10,000 repetitions cost
	+@$(MAKE) --no-print-directory -j$(JOBS) all
	@PYTHONPATH=. python3 tests/bench/alert_latency.py $(BENCH_OPTIONS)

bench-controller-memory: ## the controller's memory with 1000 finished sessions
	+@$(MAKE) --no-print-directory -j$(JOBS) all
	@PYTHONPATH=. python3 tests/bench/controller_memory.py

bench-rest-list: ## the REST API's list of 10,000 sessions: first byte, and memory of the index
	+@$(MAKE) --no-print-directory -j$(JOBS) all
	@PYTHONPATH=. python3 tests/bench/rest_list.py $(BENCH_OPTIONS)

DOTNET_TRACE := build/tools/dotnet-trace/dotnet-trace
$(DOTNET_TRACE):
	$(Q)dotnet tool install dotnet-trace --tool-path $(@D) > /dev/null

bench-overhead: $(DOTNET_TRACE) ## what CPU sessions cost the application, beside dotnet-trace
	+@$(MAKE) --no-print-directory -j$(JOBS) all test-tools
	@tests/apps/publish.sh net10.0
	@PYTHONPATH=. python3 tests/bench/overhead.py $(BENCH_OPTIONS)

bench-threads: ## what a look at 500 and 2,000 threads takes
	+@$(MAKE) --no-print-directory -j$(JOBS) programs
	@tests/apps/publish.sh --app ThreadApp net10.0
	@PYTHONPATH=. python3 tests/bench/threads.py $(BENCH_OPTIONS)

bench-deadlocks: ## how soon a deadlock is certain, alone and among 10,000 monitors; BENCH_OPTIONS="--healthy 500": false alarms on busy locks
	+@$(MAKE) --no-print-directory -j$(JOBS) programs
	@tests/apps/publish.sh --app LockApp net10.0
	@PYTHONPATH=. python3 tests/bench/deadlocks.py $(BENCH_OPTIONS)

bench-latency: ## how soon a CPU session samples, and how soon it is gone
	+@$(MAKE) --no-print-directory -j$(JOBS) all test-tools
	@tests/apps/publish.sh net8.0 net9.0 net10.0
	@PYTHONPATH=. python3 tests/bench/latency.py $(BENCH_OPTIONS)

bench-accuracy: ## how far shares are from what the application measured itself
	+@$(MAKE) --no-print-directory -j$(JOBS) all
	@tests/apps/publish.sh net10.0
	@PYTHONPATH=. python3 tests/bench/accuracy.py $(BENCH_OPTIONS)

bench-page: ## how soon the web page is seen, and how many bytes it is
	+@$(MAKE) --no-print-directory -j$(JOBS) all
	@PYTHONPATH=. python3 tests/bench/page.py $(BENCH_OPTIONS)

.PHONY: bench-gc-survivors
bench-gc-survivors: ## GCSurvivors on heaps of 1 and 10 million objects: stops, time until the report, memory
	+@$(MAKE) --no-print-directory -j$(JOBS) all
	@tests/apps/publish.sh --app MemoryApp net8.0 net9.0 net10.0
	@PYTHONPATH=. python3 tests/bench/gc_survivors.py $(BENCH_OPTIONS)

.PHONY: bench-stuck-tasks
bench-stuck-tasks: ## StuckTasks on a million waiting operations: stops, the agent's memory
	+@$(MAKE) --no-print-directory -j$(JOBS) all
	@tests/apps/publish.sh --app AsyncApp net8.0 net9.0 net10.0
	@PYTHONPATH=. python3 tests/bench/stuck_tasks.py $(BENCH_OPTIONS)

.PHONY: bench-scale
bench-scale: ## what thousands of agents and sessions cost the controller: a quarter of an hour
	+@$(MAKE) --no-print-directory -j$(JOBS) all test-tools
	@PYTHONPATH=. python3 tests/bench/scale.py $(BENCH_OPTIONS)

.PHONY: bench-allocations
bench-allocations: ## what sampling allocations costs an application that only allocates
	+@$(MAKE) --no-print-directory -j$(JOBS) all profiler-tools
	@tests/apps/publish.sh --app AllocApp net8.0 net9.0 net10.0
	@PYTHONPATH=. python3 tests/bench/allocations.py $(BENCH_OPTIONS)

.PHONY: bench-exceptions
bench-exceptions: ## what a session of Exceptions costs an application that throws 10,000 times a second, and one that does nothing else
	+@$(MAKE) --no-print-directory -j$(JOBS) all
	@tests/apps/publish.sh --app ThrowApp net8.0 net9.0 net10.0
	@PYTHONPATH=. python3 tests/bench/exceptions.py $(BENCH_OPTIONS)

.PHONY: bench-slow-requests
bench-slow-requests: $(DOTNET_TRACE) ## what SlowRequests costs a web application at 1,000, 10,000 and 60,000 requests/s, beside dotnet-trace
	+@$(MAKE) --no-print-directory -j$(JOBS) all test-tools
	@tests/apps/publish.sh --app RequestApp net10.0
	@PYTHONPATH=. python3 tests/bench/slow_requests.py $(BENCH_OPTIONS)

.PHONY: bench-stopped
bench-stopped: ## throughput of a web application at 60,000 requests/s in the first 15 s after its profiler was stopped (SIGSTOP)
	+@$(MAKE) --no-print-directory -j$(JOBS) all test-tools
	@tests/apps/publish.sh --app RequestApp net10.0
	@PYTHONPATH=. python3 tests/bench/stopped.py $(BENCH_OPTIONS)

.PHONY: bench-heap-graph
bench-heap-graph: ## how long heaps of 1, 10 (and 100: BENCH_OPTIONS=--big) million objects take to analyse, and in how much memory
	+@$(MAKE) --no-print-directory -j$(JOBS) all test-tools
	@PYTHONPATH=. python3 tests/bench/heap_graph.py $(BENCH_OPTIONS)

.PHONY: bench-rules
bench-rules: ## how long 500 rules of the catalogue's form take to read and to judge, and in how much memory
	+@$(MAKE) --no-print-directory -j$(JOBS) all test-tools
	@build/release/tests/rules

.PHONY: bench-runtime-pauses
bench-runtime-pauses: ## what a session of RuntimePauses costs an application that only allocates
	+@$(MAKE) --no-print-directory -j$(JOBS) all
	@tests/apps/publish.sh --app PauseApp net8.0 net9.0 net10.0
	@PYTHONPATH=. python3 tests/bench/runtime_pauses.py $(BENCH_OPTIONS)

.PHONY: bench-failover bench-strings
bench-failover: ## how long nobody leads when the controller's leader is killed
	+@$(MAKE) --no-print-directory -j$(JOBS) all test-tools
	@PYTHONPATH=. python3 tests/bench/failover.py $(BENCH_OPTIONS)

bench-strings: ## what a DuplicatedStrings session costs the application and the agent
	+@$(MAKE) --no-print-directory -j$(JOBS) all
	@tests/apps/publish.sh --app MemoryApp net8.0 net9.0 net10.0
	@PYTHONPATH=. python3 tests/bench/duplicated_strings.py $(BENCH_OPTIONS)

.PHONY: bench-heap-walk
bench-heap-walk: ## what a walk of the heap costs the application, beside dotnet-gcdump's way and a bare walk by callbacks
	+@$(MAKE) --no-print-directory -j$(JOBS) all test-tools
	@tests/apps/publish.sh --app MemoryApp net8.0 net9.0 net10.0
	@PYTHONPATH=. python3 tests/bench/heap_walk.py $(BENCH_OPTIONS)

PEER_LOOKS := $(B)/tests/peer-looks
$(PEER_LOOKS): $(B)/obj/tests/bench/peer_looks.o $(patsubst %,$(B)/obj/profiler-lib/profiler/%.o,requests/answers requests/peers \
		requests/server_sockets base/channel_io stacks/sample_ring) $(B)/libcommon.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^

.PHONY: bench-peers
bench-peers: $(PEER_LOOKS) ## what looks at the connections that a process has made cost it, with 1 to 10,000 of them
	@$(PEER_LOOKS) $(BENCH_OPTIONS)

.PHONY: bench-heap-prediction
bench-heap-prediction: ## how long heap walks were predicted to stop the application, by how long they did, with CPU limits and loads: some 10 minutes
	+@$(MAKE) --no-print-directory -j$(JOBS) all test-tools
	@tests/apps/publish.sh --app MemoryApp net10.0
	@PYTHONPATH=. python3 tests/bench/heap_prediction.py $(BENCH_OPTIONS)
