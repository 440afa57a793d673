/* `drdotnet explain` and `drdotnet rules`: the catalogue of findings, and users' own rules. One thread. */
#ifndef DRDOTNET_CLI_RULES_H
#define DRDOTNET_CLI_RULES_H

#include "agent/cli/cli_options.h"

int cli_explain(const struct cli_args *a);
int cli_rules(const struct cli_args *a);

/* Adds the rules of `--rules`; says on `errors` what is left out. How many were; -1: the folder cannot be read (*e). */
int cli_rules_add(const char *path, FILE *errors, struct err *e);

#endif
