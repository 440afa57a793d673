'use strict';
/* The sections of a SlowRequests report. */
Report.show(r => {
	const {count, percent, make} = Report;
	const q = r.requests, s = r.sampling, length = ns => ns ? Report.duration(ns / 1000) : '';
	const rate = n => n >= 20 ? count(Math.round(n)) : n >= 1 ? n.toFixed(1) : n.toFixed(2);
	const time = (title, of) => ({title, sort: 'number', cell: e => ({text: length(e[of]), sort: e[of]})});
	const statuses = e => Object.entries(e.statuses).filter(([, n]) => n).map(([name, n]) => `${name} ${count(n)}`).join(', ');
	const slowest = e => e.slowest.length ? make('details', make('summary', e.name),
		make('ol', e.slowest.map(x => make('li', `${length(x.nanoseconds)}, ${(x.startNanoseconds / 1e9).toFixed(1)} s after the beginning` +
			(x.status === null ? '' : `, status ${x.status}`))))) : e.name;
	/* The parts of a request's time, with the colours that waits of the kind have in a Waits report; they add up to the whole. */
	const KINDS = {code: ['running code', 'runs'], noCPU: ['waiting for a CPU', 'cpu'], gc: ['GC pauses', 'runtime'], lock: ['locks', 'lock'],
		io: ['synchronous I/O', 'socket'], task: ['blocked on tasks', 'task'], sleep: ['sleeping', 'sleep'], blocked: ['blocked otherwise', 'event'],
		untold: ['on a thread, not told', 'unknown'], call: ['awaiting calls', 'file'], await: ['awaiting something else', 'console'],
		unseen: ['not seen', 'fault']};
	const called = e => e.bill.calls.reduce((sum, c) => sum + c.awaitNanoseconds, 0);
	const partsOf = e => Object.keys(KINDS).map(kind => [kind, {call: called(e), await: e.bill.otherAwaitNanoseconds, unseen: e.bill.unseenNanoseconds}[kind]
		?? e.bill.thread[kind]]).filter(([, ns]) => ns > 0);
	const shareOf = (ns, e) => percent(100 * ns / (e.bill.nanoseconds || 1));
	const each = (ns, e) => `${shareOf(ns, e)} (${length(ns / (e.bill.requests || 1)) || '0 ms'})`;
	const strip = (parts, all, label) => Report.svg('svg', {viewBox: '0 0 1000 14', preserveAspectRatio: 'none', role: 'img', 'aria-label': label},
		...parts.map(([kind, from, to, title]) => Report.svg('rect', {class: 'kind k-' + KINDS[kind][1], x: (1000 * from / all).toFixed(1), height: 14,
			width: Math.max(1, 1000 * (to - from) / all).toFixed(1)}, Report.svg('title', {}, title))));
	const bar = e => {
		let at = 0;
		const parts = partsOf(e).map(([kind, ns]) => [kind, at, at += ns, `${KINDS[kind][0]} ${each(ns, e)}`]);
		return strip(parts, Math.max(at, 1), parts.map(p => p[3]).join(', '));
	};
	const legend = kinds => make('p.hint', make('span.legend', Object.keys(KINDS).filter(kind => kinds.has(kind)).map(kind =>
		make('span', make('span.dot.kind.k-' + KINDS[kind][1]), KINDS[kind][0]))));
	/* Where each part is. */
	const within = {call: e => e.bill.calls.map(c => `${c.name}: ${(c.count / (e.bill.requests || 1)).toFixed(1)} a request, ${each(c.awaitNanoseconds, e)}, ` +
		`longest ${length(c.longestNanoseconds)}` + (c.threadNanoseconds ? `; a thread in the request meanwhile ${each(c.threadNanoseconds, e)}` : '') +
		(c.failed ? `; failed ${count(c.failed)}` : '')),
	await: e => (e.awaits ? e.awaits.places : []).filter(p => p.otherNanoseconds).map(p => `in ${p.method}` +
		(p.file ? ` (${p.file.replace(/.*\//, '')}:${p.line})` : '') + (p.awaits ? `, of ${p.awaits}` : '') + `: ${each(p.otherNanoseconds, e)}`),
	code: e => e.code.samples ? [`CPU time of all its requests, of ${Report.plural(e.code.samples, 'sample')}: ` + e.code.methods.slice(0, 5).map(m =>
		`${m.name} ${percent(100 * m.total / e.code.samples)}`).join('; ')] : []};
	const placed = (e, kind) => e.bill.places.filter(p => p.kind === kind).map(p => `${p.waitsFor} in ${p.method || 'code of .NET'}: ${each(p.nanoseconds, e)}` +
		(p.heldBy ? `, held by ${p.heldBy}` : ''));
	const bill = e => make('ul.parts', partsOf(e).filter(([, ns]) => 2000 * ns >= e.bill.nanoseconds).sort((a, b) => b[1] - a[1]).map(([kind, ns]) => {
		const places = (within[kind] || (x => placed(x, kind)))(e);
		return make('li', make('span.dot.kind.k-' + KINDS[kind][1]), ` ${KINDS[kind][0]} `, make('b', each(ns, e)),
			places.length ? make('ul', places.map(text => make('li', text))) : null);
	}));
	/* One request over its time: a row for each thing that it did, in the order in which it began them. */
	const ROWS = 16;
	const fall = (q, title) => {
		const rows = new Map();
		q.bars.forEach(b => {
			const [name] = KINDS[b.kind], text = b.kind === 'call' ? 'awaiting ' + b.call : name + (b.place ? ' in ' + b.place : '');
			const key = rows.has(text) || rows.size < ROWS ? text : 'all else';
			if (!rows.has(key)) rows.set(key, {bars: [], sum: 0});
			rows.get(key).bars.push([b.kind, b.from, b.to, `${text}: ${length(b.to - b.from)}, from ${length(b.from) || '0 ms'} on`]);
			rows.get(key).sum += b.to - b.from;
		});
		const box = make('div.fall');
		rows.forEach((row, text) => box.append(make('span.what', text), make('b', `${percent(100 * row.sum / (q.nanoseconds || 1))} (${length(row.sum) || '0 ms'})`),
			strip(row.bars, q.nanoseconds || 1, `${text}, ${length(row.sum)} in ${row.bars.length === 1 ? 'one piece' : row.bars.length + ' pieces'}`)));
		return [make('h3', `${title}: ${length(q.nanoseconds)}`), box];
	};
	const falls = (e, i) => Object.assign(make('details', make('summary', e.name), ...[[e.slowestRequest, 'Its slowest request'],
		[e.typicalRequest, 'A typical request']].filter(([q]) => q).flatMap(([q, title]) => fall(q, title))), {open: i === 0});
	/* The CPU time of all endpoints' requests as one tree, whose parts are the endpoints. */
	const codeOf = coded => {
		const root = {below: new Map(), ends: []}, tree = {parent: [-1], method: [-1], self: [0], total: [0]}, leaves = {node: [], thread: [], weight: []};
		coded.forEach((e, k) => {
			const t = e.code.tree, at = [root];
			for (let i = 1; i < t.parent.length; i++) {
				const below = at[t.parent[i]].below;
				if (!below.has(t.method[i])) below.set(t.method[i], {below: new Map(), ends: []});
				at[i] = below.get(t.method[i]);
				if (t.self[i]) at[i].ends.push([k, t.self[i]]);
			}
			tree.total[0] += t.total[0];
		});
		const put = (node, parent) => node.below.forEach((child, method) => {
			const i = tree.parent.push(parent) - 1;
			tree.method.push(method);
			tree.self.push(child.ends.reduce((sum, [, n]) => sum + n, 0));
			child.ends.forEach(([k, n]) => { leaves.node.push(i); leaves.thread.push(k); leaves.weight.push(n); });
			put(child, i);
		});
		put(root, 0);
		return {...r, tree, leaves, leavesOverTime: null, threads: coded.map(e => ({name: e.name, samples: e.code.samples}))};
	};
	/* How many requests took how long, in columns each of which stands for a time 1.5 times as long as the one before. */
	const COLUMNS = 18, STEP = 1.5;
	const column = ns => Math.floor(Math.log(Math.max(ns, 1)) / Math.log(STEP));
	const pairs = e => Array.from({length: e.latencies.length / 2}, (_, i) => [e.latencies[2 * i], e.latencies[2 * i + 1]]);
	const last = Math.max(0, ...r.endpoints.flatMap(e => pairs(e).map(([ns]) => column(ns)))), first = last - COLUMNS + 1;
	const latencies = e => {
		const columns = Array(COLUMNS).fill(0);
		pairs(e).forEach(([ns, n]) => { columns[Math.max(0, column(ns) - first)] += n; });
		const label = `Latencies of ${Report.plural(e.requests, 'request')}, from ${length(STEP ** first)} and less to ${length(STEP ** (last + 1))}, ` +
			'each column 1.5 times the one before';
		return {text: Report.spark(columns, label), title: label};
	};
	const slow = r.endpoints.filter(e => !e.stream), billed = slow.filter(e => e.bill.requests), coded = slow.filter(e => e.code.tree);
	const streams = r.endpoints.filter(e => e.stream || e.streams || e.streamsInFlight);
	const STREAMS = {webSocket: 'web sockets', serverSentEvents: 'server-sent events', grpcClientStreaming: 'gRPC, streamed by the client',
		grpcServerStreaming: 'gRPC, streamed by the server', grpcDuplex: 'gRPC, streamed by both'};
	const openStreams = e => e.streamsInFlight + (e.stream ? e.inFlight : 0);
	const about = {kind: 'about', texts: ['Each request is told by ASP.NET Core where it begins and where it ends; nothing is stopped. Endpoints are ' +
		'sorted by the sum of the time of their requests, with the ages of those in flight.',
	'In paths only words stay; a value is {the name of its parameter}, {id} or {name}. Query strings, headers and bodies are not read.'],
		rows: [
			['Began', count(s.began)],
			['Ended', count(s.ended)],
			['Ended, and their beginning was not seen', count(s.beginningNotSeen)],
			['Not followed', count(s.notFollowed)],
			s.inFlightNotFollowed > 0 && ['In flight, and not followed', count(s.inFlightNotFollowed)],
			['Lost', count(s.dropped + s.malformed)],
			['Requests followed', s.followedPercent >= 99.95 ? 'all' : `for ${s.followedPercent.toFixed(0)}% of the time: ` + (s.countedPercent >= 99.95 ?
				'all are counted, shares of endpoints and latencies are estimated' : 'counts, rates and latencies are estimated from it')],
			['Which thread works for which request', `told for ${s.switchesPercent.toFixed(0)}% of the time`],
			s.leftOut > 0 && ['Left out of the bills', count(s.leftOut)],
			['Connections whose client waits since before the session', count(r.measured.unansweredCount || 0)],
			['Samples of CPU time', s.cpuSamplePeriodNanoseconds ? `${count(s.cpuSamples)} while it was told which thread works for which request, ` +
				`${count(s.cpuSamplesOfRequests)} of them of requests` : 'not allowed'],
			['Context switches recorded', `${s.waitsPercent.toFixed(0)}% of the time` +
				(s.threadLooks ? `, ${Report.plural(s.threadLooks, 'look')} at the threads` : '')],
			...Report.costRows(r),
		]};
	return [
		{kind: 'facts', items: [
			{key: 'Requests', value: rate(q.perSecond), small: 'a second', note: `${count(q.count)} in all, ${count(q.streams)} of them streams`},
			{key: 'p95', value: length(q.p95Nanoseconds) || 'none', note: `p50 ${length(q.p50Nanoseconds) || 'none'}, p99 ${length(q.p99Nanoseconds) || 'none'}`},
			{key: 'Longest', value: length(q.longestNanoseconds) || 'none'},
			{key: 'Failed', value: q.withStatus ? percent(100 * q.failed / q.withStatus) : 'not told',
				note: `of ${Report.plural(q.withStatus, 'response')} with a status`},
			{key: 'In flight', value: count(q.inFlight), note: 'at the end', warn: slow.some(e => e.oldestNanoseconds > 5e9)},
			{key: 'Application paused', value: Report.pause(r), note: `by the profiler; ${r.cost.addedCPUMilliseconds} ms of CPU added`},
		]},
		{
			kind: 'table', id: 'endpoints', title: 'Endpoints, by the time that their users waited', search: 'Search endpoints', rows: slow,
			empty: 'No request of ASP.NET Core was seen.',
			columns: [
				{title: 'Share', sort: 'number', cell: e => ({text: percent(e.percent), sort: e.percent})},
				{title: 'Requests/s', sort: 'number', cell: e => ({text: rate(e.perSecond), sort: e.perSecond})},
				{title: 'Latencies', cls: 'series', cell: latencies},
				time('p50', 'p50Nanoseconds'), time('p95', 'p95Nanoseconds'), time('p99', 'p99Nanoseconds'), time('Longest', 'longestNanoseconds'),
				{title: 'Failed', sort: 'number', cell: e => ({text: e.failedPercent === null ? 'not told' : percent(e.failedPercent), sort: e.failedPercent,
					title: statuses(e)})},
				{title: 'In flight', sort: 'number', cell: e => ({text: count(e.inFlight), sort: e.inFlight})},
				time('Oldest', 'oldestNanoseconds'),
				{title: 'Clients', sort: 'number', cell: e => ({text: e.clients ? count(e.clients) : '', sort: e.clients, title: e.clients &&
					`addresses; one of them makes ${percent(100 * e.mostOfOneClient / e.withClient)} of the requests whose client was told`})},
				{title: 'Endpoint', sort: 'text', cls: 'name', cell: e => ({text: slowest(e), sort: e.name})},
			],
		},
		{
			kind: 'table', id: 'bills', title: 'Where the time of the slowest requests went', search: 'Search endpoints and parts',
			rows: billed, empty: 'No request ended.',
			columns: [
				{title: 'Requests', sort: 'number', cell: e => ({text: count(e.bill.requests), sort: e.bill.requests})},
				{title: 'Mean', sort: 'number', cell: e => ({text: length(e.bill.nanoseconds / e.bill.requests), sort: e.bill.nanoseconds / e.bill.requests})},
				{title: 'On a thread', sort: 'number', cell: e => ({text: shareOf(e.bill.threadNanoseconds, e), sort: e.bill.threadNanoseconds / e.bill.nanoseconds,
					title: 'running, or blocked'})},
				{title: 'Awaiting', sort: 'number', cell: e => ({text: shareOf(called(e) + e.bill.otherAwaitNanoseconds, e),
					sort: (called(e) + e.bill.otherAwaitNanoseconds) / e.bill.nanoseconds})},
				{title: 'Where the time went', cls: 'strip', cell: bar},
				{title: 'Endpoint and its parts', sort: 'text', cls: 'name', cell: e => ({sort: e.name, search: e.name + ' ' + bill(e).textContent,
					text: make('details', make('summary', e.name), bill(e))})},
			],
		},
		billed.length > 0 && {kind: 'own', draw: host => host.append(legend(new Set(billed.flatMap(e => partsOf(e).map(([kind]) => kind)))),
			make('p.hint', make('span', 'Something else that is awaited: a timer, a semaphore, the thread pool\u2019s queue, the client, or a library whose calls ' +
				'are not known.')))},
		slow.some(e => e.slowestRequest) && {kind: 'own', draw: host => host.append(make('h2', 'Requests over time'),
			...slow.filter(e => e.slowestRequest).map(falls))},
		streams.length > 0 && {
			kind: 'table', id: 'streams', title: 'Streams: web sockets, server-sent events and streaming calls of gRPC, which are not slow',
			search: 'Search streams', rows: streams,
			columns: [
				{title: 'Ended', sort: 'number', cell: e => ({text: count(e.streams), sort: e.streams})},
				{title: 'Open', sort: 'number', cell: e => ({text: count(openStreams(e)), sort: openStreams(e)})},
				time('Oldest', 'oldestNanoseconds'),
				{title: 'What', sort: 'text', cell: e => STREAMS[e.streamKind] || ''},
				{title: 'Endpoint', sort: 'text', cls: 'name', cell: e => e.name},
			],
		},
		coded.length > 0 && {kind: 'text', title: 'CPU time of requests', texts: []},
		coded.length > 0 ? {
			kind: 'flame', unit: 'ns', period: s.cpuSamplePeriodNanoseconds, of: 'CPU time of requests', share: 'CPU', parts: ['Endpoint', 'Endpoints'],
			widest: 'Flame graph: the widest frames use the most CPU', report: codeOf(coded), about,
			threads: [{title: 'Samples', sort: 'number', cell: e => ({text: count(e.samples), sort: e.samples})}],
		} : about,
	];
});
