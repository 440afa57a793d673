'use strict';
/* The sections of a Waits report. */
Report.show(r => {
	const {count, percent, make} = Report;
	const s = r.sampling, length = ns => Report.duration(ns / 1000), threads = n => n.toFixed(n < 9.95 ? 1 : 0);
	const kindOf = new Map(r.kinds.map(k => [`[${k.title}]`, k.kind])), titleOf = new Map(r.kinds.map(k => [k.kind, k.title]));
	/* A frame of the flame graph has the colour of its kind, that of the application's code in full. */
	const paint = (t, n, methods) => {
		let top = n;
		while (t.parent[top] > 0) top = t.parent[top];
		const kind = kindOf.get(methods[t.method[top]]?.name), m = methods[t.method[n]];
		return kind ? `kind k-${kind}` + (m && (m.layer === 'application' || m.layer === 'wait') ? '' : m ? ' soft' : ' soft folded') : '';
	};
	const named = cls => make('span.dot.' + cls);
	/* Where the time of a thread went: one bar, and what it did in each part of the session. */
	const LETTERS = {L: 'lock', T: 'task', S: 'socket', F: 'file', C: 'console', Z: 'sleep', E: 'event', R: 'runtime', P: 'fault', Q: 'cpu', N: 'native',
		U: 'unknown', '-': 'idle', '#': 'runs', '?': 'unseen', ' ': 'absent'};
	const STATES = {runs: 'on a CPU', idle: 'idle', unseen: 'short runs and waits in turns', cpu: 'waiting for a CPU'};
	const stateName = kind => STATES[kind] || titleOf.get(kind) || 'not there';
	const wall = r.timeline.parts * r.timeline.partNanoseconds;
	const spent = t => [['runs', t.cpuNanoseconds || 0], ...Object.entries(t.kinds), ['idle', t.idleNanoseconds]].filter(([, ns]) => ns > 0);
	const words = list => list.map(([kind, ns]) => `${stateName(kind)} ${length(ns)}`).join(', ');
	const rects = (parts, label) => Report.svg('svg', {viewBox: '0 0 1000 14', preserveAspectRatio: 'none', role: 'img', 'aria-label': label},
		Report.svg('title', {}, label), ...parts.map(([kind, from, to]) => Report.svg('rect', {class: 'kind k-' + kind, x: (1000 * from).toFixed(1),
			width: Math.max(1, 1000 * (to - from)).toFixed(1), height: 14})));
	function timeBar(t) {
		const list = spent(t), all = Math.max(wall, list.reduce((s, [, ns]) => s + ns, 0));
		let at = 0;
		return rects(list.map(([kind, ns]) => [kind, at / all, (at += ns) / all]), words(list));
	}
	function stateStrip(t) {
		const runs = [], n = r.timeline.parts;
		for (let i = 0; i < t.states.length; i++) {
			const kind = LETTERS[t.states[i]], last = runs.at(-1);
			if (last && last[0] === kind) last[2] = (i + 1) / n;
			else runs.push([kind, i / n, (i + 1) / n]);
		}
		const second = part => (part * n * r.timeline.partNanoseconds / 1e9).toFixed(1);
		const said = runs.slice(0, 12).map(([kind, a, b]) => `${second(a)} to ${second(b)} s ${stateName(kind)}`).join('; ');
		return rects(runs, said + (runs.length > 12 ? `; and ${runs.length - 12} more` : ''));
	}
	const waitOf = t => Object.entries(t.kinds).reduce((s, [kind, ns]) => s + (kind === 'cpu' ? 0 : ns), 0);
	const seen = new Set(['runs', 'idle', ...r.threads.flatMap(t => [...Object.keys(t.kinds), ...[...t.states || ''].map(x => LETTERS[x])])]);
	const legend = make('span.legend', [...seen].filter(kind => kind !== 'absent').map(kind => make('span', named('kind.k-' + kind), stateName(kind))));
	const moving = r.threads.filter(t => t.states !== null);
	const locks = r.places.filter(p => p.kind === 'lock');
	const looks = held => Report.plural(held.looks, 'look');
	const place = p => p.method || 'code of .NET';
	const stack = (p, name) => make('details', make('summary', name), Report.source.stack(p.stack));
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
				hot: blocked >= 0.9, warn: blocked >= 0.9, note: `${Report.plural(pool.workersAtBegin, 'worker')}, ${count(pool.workersAtEnd)} at the end` +
				(pool.queue ? `; ${Report.plural(Math.round(pool.queue.mean), 'item waits', 'items wait')} in the queue` : '')},
			{key: 'Switches', value: count(Math.round(s.switches / (r.time.durationSeconds || 1))), small: 'a second'},
			{key: 'Waiting for a CPU', value: threads(cpu.threads), small: 'threads at a time', note: 'could run'},
			{key: 'Application paused', value: Report.pause(r), note: `by the profiler; ${r.cost.addedCPUMilliseconds} ms of CPU added`},
		]},
		all > 0 && {kind: 'split', label: 'What threads wait for', parts: r.kinds.filter(k => k.nanoseconds && k.kind !== 'cpu').map(k => (
			{name: k.title, cls: 'kind.k-' + k.kind, share: k.nanoseconds / all}))},
		{
			kind: 'table', id: 'places', title: 'Where threads wait', search: 'Search places', rows: r.places, most: 30, empty: 'Nothing waits but idle threads.',
			columns: [{title: 'Share', sort: 'number', cell: p => ({text: percent(p.percent), sort: p.percent})}, ...figures,
				{title: 'Waits for', sort: 'text', cell: p => p.what},
				{title: 'In', sort: 'text', cls: 'name', cell: p => ({text: stack(p, place(p)), sort: place(p)})}],
		},
		locks.length > 0 && {
			kind: 'table', id: 'locks', title: 'Locks', search: 'Search locks', rows: locks, most: 20,
			columns: [total, ...figures.slice(1),
				{title: 'Lock', sort: 'text', cell: p => p.what},
				{title: 'Held by', sort: 'text', cell: p => ({text: p.heldBy?.method ? `${p.heldBy.method}, at ${p.heldBy.waiting} of ${looks(p.heldBy)}`
					: p.heldBy ? `seen held at ${looks(p.heldBy)}` : 'not seen'})},
				{title: 'The holder meanwhile', sort: 'text', cell: p => [p.heldBy?.waitsFor && `waits: ${p.heldBy.waitsFor}`,
					p.heldBy?.running && `runs at ${p.heldBy.running} of ${looks(p.heldBy)}`].filter(Boolean).join('; ')},
				{title: 'Wanted in', sort: 'text', cls: 'name', cell: p => ({text: stack(p, place(p)), sort: place(p)})}],
			note: 'Holders of a SemaphoreSlim and readers of a ReaderWriterLockSlim are not recorded by .NET; those of a Lock and writers are read on .NET 9 and newer.',
		},
		moving.length > 0 && {
			kind: 'table', id: 'states', title: 'Threads over time', search: 'Search threads', rows: moving, most: 25,
			columns: [
				{title: 'Waiting', sort: 'number', cell: t => ({text: length(waitOf(t)), sort: waitOf(t)})},
				{title: 'CPU', sort: 'number', cell: t => ({text: t.cpuNanoseconds === null ? '' : length(t.cpuNanoseconds), sort: t.cpuNanoseconds || 0})},
				{title: 'Where its time went', cls: 'strip', cell: t => timeBar(t)},
				{title: `Over the ${(wall / 1e9).toFixed(0)} s of the session`, cls: 'strip', cell: t => stateStrip(t)},
				{title: 'Thread', sort: 'text', cls: 'name', cell: t => ({text: `${t.name || '(no name)'} ${t.tid}`})},
			],
		},
		moving.length > 0 && {kind: 'own', draw: host => host.append(make('p.hint', legend))},
		{
			kind: 'table', id: 'idle', title: 'Idle', search: 'Search idle threads', rows: r.idle, empty: 'No thread is idle.',
			columns: [total, ...figures, {title: 'What', sort: 'text', cls: 'name', cell: p => ({text: stack(p, p.what), sort: p.what})}],
		},
		{
			kind: 'flame', unit: 'ns', period: 1, of: 'waiting', share: 'Waiting',
			colour: m => m.layer === 'wait' ? 'kind.k-' + (kindOf.get(m.name) ?? 'unknown') : '', paint, legend: r.kinds.filter(k => k.nanoseconds &&
				k.kind !== 'cpu').map(k => ({cls: 'kind.k-' + k.kind, title: k.title})), widest: 'Off-CPU flame graph: the widest frames wait the longest',
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
