# the plugin `kubectl drdotnet` is an archive of its own: nothing of it is in the controller
KUBECTL_MAIN := controller/kubectl/kubectl_main.c
KUBECTL_SRC := $(filter-out $(KUBECTL_MAIN),$(sort $(wildcard controller/kubectl/*.c)))
CONTROLLER_MAIN := controller/controller_main.c
CONTROLLER_SRC := $(filter-out controller/kubectl/%,$(sort $(wildcard controller/*/*.c)))
