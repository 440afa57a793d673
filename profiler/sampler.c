#include "profiler/sampler.h"
void sampler_reset(void){} int sampler_start(uint32_t h,const char**m){(void)h;*m="x";return 38;} void sampler_stop(void){} bool sampler_running(void){return false;} void sampler_tick(void){} void sampler_drain(struct channel_io*io){(void)io;} struct channel_sampling sampler_counts(void){return (struct channel_sampling){0};}
