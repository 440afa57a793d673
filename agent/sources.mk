AGENT_SRC :=
AGENT_MAIN := agent/agent_main.c
DRDOTNET_MAIN := agent/drdotnet_main.c
