#include "agent/profilers/requests/request_peers.h"

#include "common/base/mem.h"
#include "common/base/search.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	uint16_t port;
	const char *what;
} usual[] = {
	{6379, "Redis"}, {6380, "Redis"}, {26379, "Redis"}, {3306, "MySQL"}, {1521, "Oracle"}, {27017, "MongoDB"}, {5672, "AMQP"}, {5671, "AMQP"},
	{9092, "Kafka"}, {11211, "memcached"}, {9042, "Cassandra"}, {5432, "PostgreSQL"}, {1433, "SQL Server"}, {4222, "NATS"}, {25, "SMTP"},
	{587, "SMTP"}, {389, "LDAP"}, {636, "LDAP"},
};

static const struct {
	const char *prefix, *what;
} clients[] = {
	{"StackExchange.Redis.", "Redis"}, {"ServiceStack.Redis.", "Redis"}, {"FreeRedis.", "Redis"}, {"MySqlConnector.", "MySQL"},
	{"MySql.Data.", "MySQL"}, {"MongoDB.Driver.", "MongoDB"}, {"Oracle.ManagedDataAccess.", "Oracle"}, {"RabbitMQ.Client.", "AMQP"},
	{"Confluent.Kafka.", "Kafka"}, {"Cassandra.", "Cassandra"}, {"Enyim.Caching.", "memcached"}, {"NATS.Client.", "NATS"},
};

const char *request_peers_usual(uint16_t port)
{
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		if (usual[i].port == port)
			return usual[i].what;
	return NULL;
}

const char *request_peers_of_method(const char *method)
{
	for (size_t i = 0; i < sizeof clients / sizeof *clients; i++)
		if (strncmp(method, clients[i].prefix, strlen(clients[i].prefix)) == 0)
			return clients[i].what;
	return NULL;
}

void request_peers_name(const struct peer_name *n, struct buf *out)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	char text[INET6_ADDRSTRLEN] = "";
	bool v4 = memcmp(n->address, mapped, sizeof mapped) == 0;
	inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? n->address + sizeof mapped : n->address, text, sizeof text);
	buf_printf(out, v4 ? "%s:%u" : "[%s]:%u", text, n->port);
}

/* SIZE_MAX: no room. */
static size_t number_of(struct request_peers *x, const struct channel_request_peer *p)
{
	for (size_t i = 0; i < x->name_count; i++)
		if (x->names[i].port == p->port && memcmp(x->names[i].address, p->address, sizeof p->address) == 0)
			return i;
	if (x->name_count == PEERS_MOST)
		return SIZE_MAX;
	struct peer_name *n = &x->names[x->name_count];
	memcpy(n->address, p->address, sizeof n->address);
	n->port = p->port;
	return x->name_count++;
}

static uint64_t ago(uint64_t at_ns, uint32_t ms)
{
	return at_ns > ms * UINT64_C(1000000) ? at_ns - ms * UINT64_C(1000000) : 0;
}

void request_peers_look(struct request_peers *x, uint64_t at_ns, const struct channel_request_peer *list, size_t count)
{
	if (x->look_count == PEER_LOOKS_MOST || x->row_count + count > PEER_ROWS_MOST || (x->look_count && at_ns <= x->looks[x->look_count - 1].at_ns))
		return;
	GROW(x->looks, x->look_count, x->look_cap);
	x->looks[x->look_count++] = (struct peer_look){at_ns, (uint32_t)x->row_count};
	for (size_t i = 0; i < count; i++) {
		size_t peer = number_of(x, &list[i]);
		if (peer == SIZE_MAX)
			continue;
		GROW(x->rows, x->row_count, x->row_cap);
		x->rows[x->row_count++] = (struct peer_row){ago(at_ns, list[i].sent_ms), ago(at_ns, list[i].received_ms), list[i].asked, (uint16_t)peer,
							    list[i].flags};
	}
}

void request_peers_fini(struct request_peers *x)
{
	free(x->looks);
	free(x->rows);
	*x = (struct request_peers){0};
}

size_t request_peers_after(const struct request_peers *x, uint64_t at_ns)
{
	return SEARCH_PAST(i, x->look_count, x->looks[i].at_ns <= at_ns);
}

size_t request_peers_rows_end(const struct request_peers *x, size_t look)
{
	return look + 1 < x->look_count ? x->looks[look + 1].first_row : x->row_count;
}
