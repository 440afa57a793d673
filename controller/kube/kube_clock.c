#include "controller/kube/kube_clock.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "controller/base/metrics.h"

#include <pthread.h>

#define SLOW_ANSWER_MS 2000
#define TELL_MS 5000 /* a difference that the log tells of */

static struct {
	pthread_mutex_t lock;
	struct kube_clock clock;
	bool told;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

void kube_clock_step(struct kube_clock *c, int64_t date_wall_ms, int64_t begun_mono_ms, int64_t now_mono_ms, int64_t now_wall_ms)
{
	if (date_wall_ms <= 0 || now_mono_ms - begun_mono_ms > SLOW_ANSWER_MS)
		return;
	/* The Date was written between the request's begin and now, and up to a second has been cut from it. */
	int64_t least = date_wall_ms - now_mono_ms, most = date_wall_ms + 999 - begun_mono_ms;
	int64_t offset = c->known ? c->offset_ms : now_wall_ms - now_mono_ms;
	c->offset_ms = offset < least ? least : offset > most ? most : offset;
	c->known = true;
}

static int64_t difference(const struct kube_clock *c, int64_t mono_ms, int64_t wall_ms)
{
	int64_t ms = wall_ms - mono_ms - c->offset_ms;
	return ms < 0 ? -ms : ms;
}

void kube_clock_note(int64_t date_wall_ms, int64_t begun_mono_ms)
{
	int64_t mono = clock_mono_ms(), wall = clock_wall_ms();
	pthread_mutex_lock(&process.lock);
	kube_clock_step(&process.clock, date_wall_ms, begun_mono_ms, mono, wall);
	int64_t apart = process.clock.known ? difference(&process.clock, mono, wall) : 0;
	bool tell = apart > TELL_MS && !process.told;
	process.told = apart > TELL_MS;
	pthread_mutex_unlock(&process.lock);
	metrics_set(METRIC_CLOCK_DIFFERENCE, NULL, apart / 1000);
	if (tell)
		LOG_WARN("kube", "our clock and the API server's differ; sessions go by the API server's", LOG_I("milliseconds", apart));
}

int64_t kube_clock_wall_ms(void)
{
	pthread_mutex_lock(&process.lock);
	struct kube_clock c = process.clock;
	pthread_mutex_unlock(&process.lock);
	return c.known ? clock_mono_ms() + c.offset_ms : clock_wall_ms();
}
