#include "agent/profilers/exceptions/exception_numbers.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define AGAIN_EACH_MOST 20 /* times that one exception is thrown again on its way */
#define SAMPLES_LEAST 50
#define UNWINDING_LEAST 10 /* fewer are no share */

RULE_FIELDS(exception_numbers, EXCEPTION_NUMBERS);

static bool is_near(const struct exception_sum *s)
{
	return s->way == EXCEPTION_NEW && (s->distance == CAUGHT_SAME || s->distance == CAUGHT_CALLER);
}

static const char *type_of_sum(const struct exception_analysis *a, const struct exception_sum *s)
{
	return a->capture->kinds[s->kind].type;
}

/* What a dependency that does not answer is told by. */
static bool is_of_dependency(const char *type)
{
	static const char *const types[] = {
		"System.Net.Sockets.SocketException", "System.Net.Http.HttpRequestException", "System.TimeoutException", "System.Net.WebException",
		"Npgsql.NpgsqlException", "Microsoft.Data.SqlClient.SqlException", "System.Data.SqlClient.SqlException", "MySqlConnector.MySqlException",
		"StackExchange.Redis.RedisConnectionException", "StackExchange.Redis.RedisTimeoutException", "Grpc.Core.RpcException",
		"RabbitMQ.Client.Exceptions.BrokerUnreachableException",
	};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

static bool is_cancellation(const char *type)
{
	return strcmp(type, "System.OperationCanceledException") == 0 || strcmp(type, "System.Threading.Tasks.TaskCanceledException") == 0;
}

const struct exception_sum *exception_numbers_site(const struct exception_analysis *a)
{
	for (size_t i = 0; i < a->site_count; i++)
		if (a->sites[i].way == EXCEPTION_NEW)
			return &a->sites[i];
	return NULL;
}

const struct exception_sum *exception_numbers_near(const struct exception_analysis *a)
{
	for (size_t i = 0; i < a->site_count; i++)
		if (is_near(&a->sites[i]))
			return &a->sites[i];
	return NULL;
}

const struct exception_sum *exception_numbers_again(const struct exception_analysis *a)
{
	for (size_t i = 0; i < a->site_count; i++)
		if (a->sites[i].way != EXCEPTION_NEW)
			return &a->sites[i];
	return NULL;
}

bool exception_numbers_only_again(const struct exception_numbers *n)
{
	return rules_known(n->again_per_second) && n->again_per_second > AGAIN_EACH_MOST * n->thrown_per_second;
}

static const struct exception_sum *retried_site(const struct exception_analysis *a)
{
	for (size_t i = 0; i < a->site_count; i++)
		if (a->sites[i].way == EXCEPTION_NEW && is_of_dependency(type_of_sum(a, &a->sites[i])))
			return &a->sites[i];
	return NULL;
}

static void name_exception_sum(const struct exception_analysis *a, const struct exception_sum *s, struct rule_text *type, struct rule_text *method,
			       struct rule_text *catcher)
{
	rules_set_text(type, s ? type_of_sum(a, s) : NULL);
	rules_set_text(method, s ? exception_analysis_method(a, s->method) : NULL);
	if (catcher)
		rules_set_text(catcher, s ? exception_analysis_method(a, s->catcher) : NULL);
}

/* A method may throw exceptions of several kinds. */
static void number_methods(const struct exception_analysis *a, struct exception_numbers *out)
{
	double *of = mem_calloc(a->base.method_count + 1, sizeof *of), most = 0;
	for (size_t i = 0; i < a->site_count; i++) {
		const struct exception_sum *s = &a->sites[i];
		if (s->way != EXCEPTION_NEW || s->method == CPU_NO_METHOD)
			continue;
		of[s->method] += s->count;
		if (of[s->method] <= most)
			continue;
		most = of[s->method];
		rules_set_text(&out->method, exception_analysis_method(a, s->method));
	}
	out->method_percent = exception_analysis_percent(a, most);
	free(of);
}

static void number_retries(const struct exception_analysis *a, double seconds, struct exception_numbers *out)
{
	const struct exception_sum *s = retried_site(a);
	out->retry_count = s ? (double)s->counted : 0;
	out->retry_per_second = s ? s->count / seconds : 0;
	out->retry_span_percent = s ? (double)(s->last_ns - s->first_ns) / 1e7 / seconds : 0;
	name_exception_sum(a, s, &out->retry_type, &out->retry_method, NULL);
}

void exception_numbers_of(const struct exception_analysis *a, struct exception_numbers *out)
{
	const struct exception_capture *c = a->capture;
	double seconds = a->seconds > 0 ? a->seconds : 1, thrown = a->ways[EXCEPTION_NEW], all = (double)(c->counted + c->dropped);
	double near = 0, cancelled = 0;
	rules_clear(&exception_numbers_fields, out);
	for (size_t i = 0; i < a->site_count; i++)
		near += is_near(&a->sites[i]) ? a->sites[i].count : 0;
	for (size_t i = 0; i < a->type_count; i++)
		cancelled += is_cancellation(type_of_sum(a, &a->types[i])) ? a->types[i].count : 0;
	out->seconds = a->seconds;
	out->counted = (double)c->counted;
	out->dropped_percent = all > 0 ? 100 * (double)c->dropped / all : 0;
	out->sampled_percent = site_time_sampled_percent(&c->time);
	out->thrown_per_second = thrown / seconds;
	out->cpus = a->cpus;
	out->thrown_per_cpu_second = rules_known(a->cpus) && a->cpus > 0 ? out->thrown_per_second / a->cpus : NAN;
	out->cost_us = a->cost_us;
	out->cost_percent = a->cost_percent;
	const struct exception_sum *site = exception_numbers_site(a);
	out->site_percent = site ? exception_analysis_percent(a, site->count) : 0;
	name_exception_sum(a, site, &out->site_type, &out->site_method, &out->site_catcher);
	out->near_percent = c->catchers ? exception_analysis_percent(a, near) : NAN;
	name_exception_sum(a, exception_numbers_near(a), &out->near_type, &out->near_method, &out->near_catcher);
	out->rethrown_each = thrown > 0 ? a->ways[EXCEPTION_RETHROW] / thrown : 0;
	out->awaited_each = thrown > 0 ? a->ways[EXCEPTION_AWAIT] / thrown : 0;
	out->cancelled_percent = exception_analysis_percent(a, cancelled);
	number_retries(a, seconds, out);
	number_methods(a, out);
	out->again_per_second = (a->ways[EXCEPTION_RETHROW] + a->ways[EXCEPTION_AWAIT]) / seconds;
	name_exception_sum(a, exception_numbers_again(a), &out->again_type, &out->again_method, NULL);
	if (c->cpu_samples >= SAMPLES_LEAST && c->unwinding_samples >= UNWINDING_LEAST)
		out->unwinding_percent = 100 * (double)c->unwinding_samples / (double)c->cpu_samples;
}
