# every .c of its rooms is the agent's
AGENT_SRC := $(sort $(wildcard agent/*/*.c agent/*/*/*.c))
AGENT_MAIN := agent/agent_main.c
DRDOTNET_MAIN := agent/drdotnet_main.c
AGENT_PROTO := agent/stacks/profile.proto
