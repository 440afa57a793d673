# Benches: what they measure is in docs/decisions/.
.PHONY: bench-cluster-latency bench-controller-memory
bench-cluster-latency: ## how long users wait for samples and diagnosis, on a real API server
	+@$(MAKE) --no-print-directory -j$(JOBS) all
	@tests/apps/publish.sh net10.0
	@PYTHONPATH=. python3 tests/bench/cluster_latency.py

bench-controller-memory: ## the controller's memory with 1000 finished sessions
	+@$(MAKE) --no-print-directory -j$(JOBS) all
	@PYTHONPATH=. python3 tests/bench/controller_memory.py
