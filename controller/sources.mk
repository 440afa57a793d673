CONTROLLER_SRC :=
CONTROLLER_SRC += controller/kube_config.c
CONTROLLER_SRC += controller/kube_client.c
CONTROLLER_SRC += controller/metrics.c
CONTROLLER_MAIN := controller/controller_main.c
