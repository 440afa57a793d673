'use strict';
/* The sections of a Waits report. */
Report.show(r => {
	const {count, percent, make} = Report;
	const s = r.sampling, length = ns => Report.duration(ns / 1000), threads = n => n.toFixed(n < 9.95 ? 1 : 0);
	const COLOURS = {lock: 0, task: 2, socket: 1, file: 8, console: 4, sleep: 5, event: 10, runtime: 7, fault: 9, native: 3, unknown: 10};
	const kindOf = new Map(r.kinds.map(k => [`[${k.title}]`, k.kind]));
	const held = p => p.heldBy && [p.heldBy.method && `${p.heldBy.method} (${p.heldBy.waitsFor})`,
		p.heldBy.running && `running at ${p.heldBy.running} of ${p.heldBy.looks} looks`].filter(Boolean).join('; ');
	const stack = p => make('details', make('summary', p.method || p.what), make('ol', p.stack.map(f => make('li', Report.source.frame(f)))));
	const total = {title: 'Total', sort: 'number', cell: p => ({text: length(p.nanoseconds), sort: p.nanoseconds})};
	const figures = [
		{title: 'Threads', sort: 'number', cell: p => ({text: threads(p.threadsWaiting), sort: p.threadsWaiting, title: 'wait so at a time, on average'})},
		{title: 'Waits/s', sort: 'number', cell: p => ({text: p.waitsPerSecond.toFixed(1), sort: p.waitsPerSecond})},
		{title: 'p50', sort: 'number', cell: p => ({text: length(p.p50Nanoseconds), sort: p.p50Nanoseconds})},
		{title: 'p99', sort: 'number', cell: p => ({text: length(p.p99Nanoseconds), sort: p.p99Nanoseconds})},
		{title: 'Longest', sort: 'number', cell: p => ({text: length(p.longestNanoseconds), sort: p.longestNanoseconds})},
		{title: 'Of threads', sort: 'number', cell: p => ({text: count(p.threads) + (p.throughout ? ` (${p.throughout} throughout)` : ''), sort: p.threads})},
	];
	const cpu = r.kinds.find(k => k.kind === 'cpu'), pool = r.pool, all = r.waiting.nanoseconds;
	const blocked = pool.aliveNanoseconds ? pool.blockedNanoseconds / pool.aliveNanoseconds : 0;
	return [
		{kind: 'facts', items: [
			{key: 'Waiting', value: threads(r.waiting.threads), small: 'threads at a time', note: threads(r.waiting.idleThreads) + ' more idle'},
			pool.workers > 0 && {key: 'Pool workers blocked', value: percent(100 * Math.min(1, blocked)), small: 'of their time', level: Math.min(1, blocked),
				hot: blocked >= 0.9, warn: blocked >= 0.9, note: `${count(pool.workersAtBegin)} workers, ${count(pool.workersAtEnd)} at the end` +
				(pool.queue ? `; ${count(Math.round(pool.queue.mean))} items wait in the queue` : '')},
			{key: 'Switches', value: count(Math.round(s.switches / (r.time.durationSeconds || 1))), small: 'a second'},
			{key: 'Waiting for a CPU', value: threads(cpu.threads), small: 'threads at a time', note: 'could run'},
			{key: 'Application paused', value: Report.pause(r), note: `by the profiler; ${r.cost.addedCPUMilliseconds} ms of CPU added`},
		]},
		all > 0 && {kind: 'split', label: 'What threads wait for', parts: r.kinds.filter(k => k.nanoseconds && k.kind !== 'cpu').map(k => (
			{name: k.title, cls: 'c' + COLOURS[k.kind], share: k.nanoseconds / all}))},
		{
			kind: 'table', id: 'places', title: 'Where threads wait', search: 'Search places', rows: r.places, most: 30, empty: 'Nothing waits but idle threads.',
			columns: [{title: 'Share', sort: 'number', cell: p => ({text: percent(p.percent), sort: p.percent})}, ...figures,
				{title: 'Waits for', sort: 'text', cell: p => p.what},
				{title: 'In', sort: 'text', cls: 'name', cell: p => ({text: stack(p), sort: p.method || p.what})},
				{title: 'Held by', sort: 'text', cls: 'name', cell: p => held(p) || ''}],
		},
		{
			kind: 'table', id: 'idle', title: 'Idle', search: 'Search idle threads', rows: r.idle, empty: 'No thread is idle.',
			columns: [total, ...figures, {title: 'What', sort: 'text', cls: 'name', cell: p => ({text: stack(p), sort: p.what})}],
		},
		{
			kind: 'flame', unit: 'ns', period: 1, of: 'waiting', share: 'Waiting',
			colour: m => m.layer === 'wait' ? 'c' + (COLOURS[kindOf.get(m.name)] ?? 10) : '', widest: 'Off-CPU flame graph: the widest frames wait the longest',
			threads: [{title: 'Waiting', sort: 'number', cell: t => ({text: length(t.samples), sort: t.samples})},
				{title: 'Idle', sort: 'number', cell: t => ({text: length(t.idleNanoseconds), sort: t.idleNanoseconds})}],
			about: {
				kind: 'about',
				texts: ['A thread waits from the moment at which it loses its CPU until it gets one again, by the kernel\u2019s clock; its stack is taken as it falls ' +
					'asleep. Nothing is stopped for it. Where there are many switches, looks at the threads at random moments tell the time, and switches are recorded in ' +
					'windows: from them it is known how often threads wait, and how long. Each would cost too much.',
				'What only idles (pool workers without work, timers, accept loops, consumers of queues, the application\u2019s own threads that wait to be told) is in a ' +
					'table of its own and not in the flame graph. A Mutex looks like an event.'],
				rows: [
					['Context switches', `${count(s.switches)}, ${s.period === 1 ? 'each with a stack' : `one of ${s.period} with a stack`}`],
					['Looks at the threads, at random moments', s.threadLooks ? count(s.threadLooks) : 'none: each switch was recorded'],
					['Switches recorded', s.recordedPercent.toFixed(0) + '% of the time'],
					['Waiting without a known stack', length(s.unseenNanoseconds)],
					['Waiting with a cut stack', length(s.cutNanoseconds)],
					['Lost or dropped records', count(s.lost + s.dropped)],
					['Looks at the table of monitors', count(s.lockLooks)],
					['Compiled frames without a name', `${count(s.managedFramesUnnamed)} of ${count(s.managedFramesNamed + s.managedFramesUnnamed)}`],
					...Report.costRows(r),
				],
			},
		},
	];
});
