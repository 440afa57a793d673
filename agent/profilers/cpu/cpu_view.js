'use strict';
/* The sections of a CPUHotpaths report. */
Report.show(r => {
	const {count, percent} = Report;
	const COLOURS = ['application', 'library', 'gc', 'jit', 'typeLoading', 'scheduling', 'exceptions', 'runtime', 'native', 'kernel', 'unknown'];
	const s = r.sampling, cpu = r.cpu, seconds = ns => (ns / 1e9).toFixed(1) + ' s';
	const used = cpu.allowedCPUs > 0 ? cpu.usedCPUs / cpu.allowedCPUs : 0, hot = cpu.limited && used >= 0.9;
	const throttled = cpu.throttledPeriods !== null && cpu.periods > 0 ? cpu.throttledPeriods / cpu.periods : null;
	const missing = s.managedFramesUnnamed;
	return [
		{kind: 'facts', items: [
			{key: 'CPU used', value: cpu.usedCPUs.toFixed(2), level: used, hot, warn: hot,
				small: cpu.allowedCPUs > 0 ? `of ${cpu.allowedCPUs.toFixed(1)} ${cpu.limited ? 'CPUs (limit)' : 'CPUs'}` : 'CPUs'},
			{key: 'CPU over time', value: seconds(cpu.usedNanoseconds), small: `in ${r.time.durationSeconds.toFixed(0)} s`, spark: r.timeline.samples,
				sparkLabel: 'CPU over time'},
			{key: 'Busy threads', value: count(cpu.busyThreads), small: 'of ' + count(r.threads.length),
				level: r.threads.length ? cpu.busyThreads / r.threads.length : 0},
			throttled !== null && {key: 'Throttled', value: percent(100 * throttled), small: 'of periods', level: throttled, hot: throttled >= 0.05,
				warn: throttled >= 0.05},
			r.start && {key: 'Port listens', value: r.start.listensNanoseconds === null ? 'not seen' : seconds(r.start.listensNanoseconds),
				small: r.start.port === null ? 'since the container began' : `port ${r.start.port}, since the container began`},
			{key: 'Application paused', value: Report.pause(r), note: `by the profiler; ${r.cost.addedCPUMilliseconds} ms of CPU added`},
		]},
		s.samples > 0 && {kind: 'split', label: 'What the CPU time went to', parts: r.categories.filter(c => c.samples).map(c => (
			{name: c.title, cls: 'c' + COLOURS.indexOf(c.category), share: c.samples / s.samples}))},
		{
			kind: 'flame', unit: 'ns', period: s.periodNanoseconds, of: 'CPU time', share: 'CPU', widest: 'Flame graph: the widest frames use the most CPU',
			timeline: {title: 'CPU over time', values: r.timeline.samples, seconds: r.timeline.bucketSeconds},
			threads: [
				{title: 'Time', sort: 'number', cell: t => ({text: (t.cpuNanoseconds / 1e9).toFixed(2) + ' s', sort: t.cpuNanoseconds})},
				{title: 'Mostly', sort: 'text', cls: 'name', cell: t => t.topMethod || ''},
			],
			about: {
				kind: 'about',
				texts: ['CPU time is sampled: each sample is the stack of a thread that was running at that moment, so shares of samples are shares of CPU time. ' +
					'Threads that wait are not seen here. A method\u2019s total counts what it calls, too.',
				'Frames of the runtime, of native libraries, of the machinery of async methods and of ASP.NET Core\u2019s pipeline are folded into one row ' +
					'where they are two or more below each other; A shows them all. The methods table counts all frames.'],
				rows: [
					['Samples', `${s.samples} at ${s.frequencyHertz} Hz (${s.method || 'unknown'})`],
					['Lost or dropped', count(s.lost + s.dropped)],
					['Cut stacks', count(s.cutStacks)],
					s.stacks === 'code' && ['Stacks that may lack callers', count(s.incompleteStacks)],
					s.stacks === 'code' && Report.tailCallRow,
					['Compiled frames without a name', `${count(missing)} of ${count(s.managedFramesNamed + missing)}`],
					r.symbols && ['Source lines', r.symbols.modules.map(m => m.module + (m.used ? '' : ': not used, ' + m.reason)).join('; ')],
					['Kernel frames', s.kernelFrames ? 'yes' : 'not allowed here: kernel time ends at the call into it'],
					s.fallbackReason && ['Why not perf events', `${s.fallbackReason}: ${s.fallbackMessage || ''}`],
					s.besideAnotherProfiler && ['Another profiler', 'holds the process\u2019s main slot (an APM?); attached beside it for notifications only, which is ' +
						'all that this report needs'],
					...Report.costRows(r),
				],
			},
		},
	];
});
