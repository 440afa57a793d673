CONTROLLER_SRC :=
CONTROLLER_MAIN := controller/controller_main.c
