# Long runs. SECONDS is the shell's too: it counts only when given to make.
SOAK_TIME := $(if $(filter command line environment,$(origin SECONDS)),$(SECONDS),3600)
STRANGERS_TIME := $(if $(filter command line environment,$(origin SECONDS)),--seconds $(SECONDS))
SOAK_SEED := $(if $(SEED),--seed $(SEED))$(if $(FIRST), --first $(FIRST))

.PHONY: soak soak-leaks soak-strangers
soak: setup-test ## random sessions and faults on busy applications: an hour, or SECONDS; SEED and FIRST repeat a run
	+@$(MAKE) --no-print-directory $(PARALLEL) apps all test-tools
	@PYTHONPATH=. python3 -u tests/resilience/soak/soak.py --seconds $(SOAK_TIME) $(SOAK_SEED)

soak-strangers: setup-test ## strangers' texts of every length and kind for an application beside each profiler: ten minutes each, or SECONDS
	+@$(MAKE) --no-print-directory $(PARALLEL) all
	@tests/apps/publish.sh --app RequestApp net10.0
	@PYTHONPATH=. python3 -u tests/resilience/soak/strangers.py $(STRANGERS_TIME) $(if $(SEED),--seed $(SEED))

soak-leaks: setup-test ## 1,000 sessions in a process of each runtime, 10,000 of the agent and of the controller: nothing may grow
	+@$(MAKE) --no-print-directory $(PARALLEL) apps all test-tools
	@PYTHONPATH=. python3 -u tests/resilience/soak/leaks.py
