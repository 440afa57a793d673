'use strict';
/* The sections of a CPUHotpaths report. */
Report.show(r => {
	const {count, percent} = Report;
	const COLOURS = ['application', 'library', 'gc', 'jit', 'typeLoading', 'scheduling', 'exceptions', 'runtime', 'native', 'kernel', 'unknown'];
	const s = r.sampling, cpu = r.cpu, seconds = ns => (ns / 1e9).toFixed(1) + ' s';
	const used = cpu.allowedCPUs > 0 ? cpu.usedCPUs / cpu.allowedCPUs : 0, hot = cpu.limited && used >= 0.9;
	const throttled = cpu.throttledPeriods !== null && cpu.periods > 0 ? cpu.throttledPeriods / cpu.periods : null;
	const missing = s.managedFramesUnnamed, start = r.start, path = start && start.path;
	const since = start && `since the ${start.of} began`, until = start && (start.listensNanoseconds || (path && path.toNanoseconds));
	/* What the start's time went to, most first, and what of it nobody saw. */
	const startParts = () => {
		const parts = path.waits.filter(w => w.nanoseconds >= 0.01 * until).map(w => (
			{name: (w.peer || w.what) + (w.method ? ' in ' + w.method : ''), cls: 'c' + COLOURS.indexOf('scheduling'), share: w.nanoseconds / until}));
		const known = path.jitNanoseconds + path.typeLoadingNanoseconds;
		parts.push({name: 'JIT compilation', cls: 'c' + COLOURS.indexOf('jit'), share: path.jitNanoseconds / until},
			{name: 'type loading', cls: 'c' + COLOURS.indexOf('typeLoading'), share: path.typeLoadingNanoseconds / until},
			{name: 'other computing', cls: 'c' + COLOURS.indexOf('application'), share: Math.max(0, path.computingNanoseconds - known) / until},
			{name: 'waiting for a CPU', cls: 'c' + COLOURS.indexOf('kernel'), share: Math.max(0, path.readyNanoseconds || 0) / until},
			{name: 'nothing to do', cls: 'c' + COLOURS.indexOf('library'), share: path.idleNanoseconds / until});
		return parts.filter(p => p.share >= 0.005);
	};
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
			start && {key: 'Port listens', value: start.listensNanoseconds === null ? 'not seen' : seconds(start.listensNanoseconds),
				small: start.port === null ? since : `port ${start.port}, ${since}`},
			{key: 'Application paused', value: Report.pause(r), note: `by the profiler; ${r.cost.addedCPUMilliseconds} ms of CPU added`},
		]},
		path && until > 0 && {kind: 'split', label: start.port === null ? 'What the start\u2019s time went to' : 'What the time until the port listened went to',
			parts: startParts()},
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
