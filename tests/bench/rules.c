/* rules [COUNT]: judges by so many more copies of a rule of the catalogue (500), and prints one JSON line with the CPU time of reading and judging and the
 * memory that judging takes. `make bench-rules`. */
#include "agent/catalogue/catalogue.h"
#include "agent/profilers/exceptions/exception_numbers.h"
#include "common/base/fsio.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define RULE "catalogue/exceptions/ExceptionsAsControlFlow.yaml"

static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static long peak_kb(void)
{
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	return used.ru_maxrss;
}

static void add_copies(int count, const char *body)
{
	struct err e = ERR_INIT;
	for (int i = 0; i < count; i++) {
		AUTO_BUF struct buf one;
		buf_init(&one, 2 * RULE_FILE_MAX_BYTES);
		buf_printf(&one, "id: user/Copy%d%s", i, body);
		if (catalogue_add_user(buf_str(&one), one.len, RULE, &e)) {
			fprintf(stderr, "%s\n", e.message);
			exit(1);
		}
	}
}

static void make_numbers(struct exception_numbers *n)
{
	rules_clear(&exception_numbers_fields, n);
	n->counted = 5000;
	n->thrown_per_second = 100;
	n->cpus = 1;
	n->cost_percent = 10;
	n->near_percent = 80;
	n->sampled_percent = 100;
	n->dropped_percent = 0;
	rules_set_text(&n->near_method, "Shop.Cart.Parse");
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 500;
	struct exception_numbers n;
	struct findings found;
	struct err e = ERR_INIT;
	AUTO_BUF struct buf rule;
	if (fsio_read(AT_FDCWD, RULE, RULE_FILE_MAX_BYTES, &rule, &e)) {
		fprintf(stderr, "%s\n", e.message);
		return 1;
	}
	double began = cpu_ms();
	add_copies(count, strchr(buf_str(&rule), '\n'));
	make_numbers(&n);
	double added = cpu_ms();
	long before = peak_kb();
	catalogue_judge("Exceptions", &exception_numbers_fields, &n, &found);
	printf("{\"rules\": %zu, \"readMs\": %.1f, \"judgeMs\": %.1f, \"judgeKb\": %ld}\n", found.count, added - began, cpu_ms() - added, peak_kb() - before);
	findings_fini(&found);
	return 0;
}
