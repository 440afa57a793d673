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
	const share = (ns, e) => `${percent(100 * ns / (e.bill.nanoseconds || 1))} (${length(ns / (e.bill.requests || 1)) || '0'})`;
	const during = e => e.bill.calls.reduce((sum, c) => sum + c.threadNanoseconds, 0);
	const calls = e => make('ol', e.bill.calls.map(c => make('li', `${c.name}: ${(c.count / (e.bill.requests || 1)).toFixed(1)} a request, awaited ` +
		`${share(c.awaitNanoseconds, e)}, a thread in the request meanwhile ${share(c.threadNanoseconds, e)}, longest ${length(c.longestNanoseconds)}` +
		(c.failed ? `, failed ${count(c.failed)}` : ''))));
	const DOINGS = {gc: ['GC pauses', 2], code: ['running code', 0], lock: ['locks', 9], io: ['synchronous I/O', 1], task: ['blocked on tasks', 6],
		noCPU: ['waiting for a CPU', 3], sleep: ['sleeping', 4], blocked: ['blocked otherwise', 5], untold: ['on a thread, not told', 10]};
	const KINDS = {...DOINGS, call: ['awaiting a call', 8], await: ['awaiting something else', 7], unseen: ['not seen', 10]};
	const told = e => make('ol', [
		...Object.entries(DOINGS).filter(([k]) => e.bill.thread[k]).map(([k, [title]]) => make('li', `${title}: ${share(e.bill.thread[k], e)}`)),
		...e.bill.places.map(p => make('li', `${DOINGS[p.kind][0]}, ${p.waitsFor} in ${p.method || 'code of .NET'}: ${share(p.nanoseconds, e)}` +
			(p.heldBy ? `, held by ${p.heldBy}` : ''))),
		e.code.samples && make('li', `CPU time of all its requests, of ${count(e.code.samples)} samples: ` + e.code.methods.slice(0, 8).map(m => (
			`${m.name} ${percent(100 * m.total / e.code.samples)}${m.self ? `, itself ${percent(100 * m.self / e.code.samples)}` : ''}`)).join('; '))].filter(Boolean));
	/* One request as bars over its time, each kind in a row of its own. */
	const fall = (q, title) => {
		const kinds = Object.keys(KINDS).filter(k => q.bars.some(b => b.kind === k)), height = 16 * kinds.length;
		const shape = (name, attributes, text) => {
			const node = document.createElementNS('http://www.w3.org/2000/svg', name);
			Object.entries(attributes).forEach(([k, v]) => node.setAttribute(k, v));
			if (text) node.append(text);
			return node;
		};
		const picture = shape('svg', {viewBox: `0 0 1000 ${height}`, width: '100%', height, preserveAspectRatio: 'none', role: 'img', 'aria-label': title});
		q.bars.forEach(b => {
			const bar = shape('rect', {x: 1000 * b.from / q.nanoseconds, y: 16 * kinds.indexOf(b.kind) + 2, height: 12,
				width: Math.max(1, 1000 * (b.to - b.from) / q.nanoseconds), class: 'c' + KINDS[b.kind][1]});
			bar.append(shape('title', {}, `${KINDS[b.kind][0]}, ${length(b.to - b.from)}` + (b.call ? `, ${b.call}` : '') + (b.place ? `, in ${b.place}` : '')));
			picture.append(bar);
		});
		return make('div', make('p', `${title}: ${length(q.nanoseconds)}; rows: ${kinds.map(k => KINDS[k][0]).join(', ')}`), picture);
	};
	/* The CPU time of one endpoint's requests: who calls is above, width is time. */
	const flame = e => {
		const t = e.code.tree, start = [0], end = t.parent.map(() => 0), depth = [0], rows = [];
		for (let i = 1; i < t.parent.length; i++) {
			start[i] = end[t.parent[i]] || start[t.parent[i]];
			end[t.parent[i]] = start[i] + t.total[i];
			end[i] = 0;
			depth[i] = depth[t.parent[i]] + 1;
			(rows[depth[i]] ??= []).push(i);
		}
		const all = t.total[0] || 1, host = make('div.endpoint-flame');
		rows.slice(1).forEach(row => {
			const line = make('div');
			line.style.cssText = 'position:relative;height:1.3em';
			row.filter(i => t.total[i] / all >= 0.003).forEach(i => {
				const m = r.methods[t.method[i]], box = make('span', m.name);
				box.style.cssText = `position:absolute;left:${100 * start[i] / all}%;width:${100 * t.total[i] / all}%;overflow:hidden;white-space:nowrap;` +
					'font-size:0.75em;border-right:1px solid;box-sizing:border-box';
				box.className = 'l' + ['application', 'library', 'runtime', 'native', 'kernel', 'unknown'].indexOf(m.layer);
				box.title = `${m.name}: ${percent(100 * t.total[i] / all)} of the CPU time, itself ${percent(100 * t.self[i] / all)}`;
				line.append(box);
			});
			host.append(line);
		});
		return make('details', make('summary', `${e.name}: ${count(e.code.samples)} ${e.code.samples === 1 ? 'sample' : 'samples'} of CPU time`), host);
	};
	const falls = e => make('details', make('summary', e.name), ...[[e.slowestRequest, 'Its slowest request'], [e.typicalRequest, 'A typical request']]
		.filter(([q]) => q).map(([q, title]) => fall(q, title)));
	const slow = r.endpoints.filter(e => !e.stream), streams = r.endpoints.filter(e => e.stream || e.streams || e.streamsInFlight);
	const STREAMS = {webSocket: 'web sockets', serverSentEvents: 'server-sent events', grpcClientStreaming: 'gRPC, streamed by the client',
		grpcServerStreaming: 'gRPC, streamed by the server', grpcDuplex: 'gRPC, streamed by both'};
	const openStreams = e => e.streamsInFlight + (e.stream ? e.inFlight : 0);
	return [
		{kind: 'facts', items: [
			{key: 'Requests', value: rate(q.perSecond), small: 'a second', note: `${count(q.count)} in all, ${count(q.streams)} of them streams`},
			{key: 'p95', value: length(q.p95Nanoseconds) || 'none', note: `p50 ${length(q.p50Nanoseconds) || 'none'}, p99 ${length(q.p99Nanoseconds) || 'none'}`},
			{key: 'Longest', value: length(q.longestNanoseconds) || 'none'},
			{key: 'Failed', value: q.withStatus ? percent(100 * q.failed / q.withStatus) : 'not told', note: `of ${count(q.withStatus)} responses with a status`},
			{key: 'In flight', value: count(q.inFlight), note: 'at the end', warn: slow.some(e => e.oldestNanoseconds > 5e9)},
			{key: 'Application paused', value: Report.pause(r), note: `by the profiler; ${r.cost.addedCPUMilliseconds} ms of CPU added`},
		]},
		{
			kind: 'table', id: 'endpoints', title: 'Endpoints, by the time that their users waited', search: 'Search endpoints', rows: slow,
			empty: 'No request of ASP.NET Core was seen.',
			columns: [
				{title: 'Share', sort: 'number', cell: e => ({text: percent(e.percent), sort: e.percent})},
				{title: 'Requests/s', sort: 'number', cell: e => ({text: rate(e.perSecond), sort: e.perSecond})},
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
			kind: 'table', id: 'bills', title: 'Where the time of the slowest requests went', search: 'Search endpoints and calls',
			rows: slow.filter(e => e.bill.requests), empty: 'No request ended.',
			columns: [
				{title: 'Requests', sort: 'number', cell: e => ({text: count(e.bill.requests), sort: e.bill.requests})},
				{title: 'Mean', sort: 'number', cell: e => ({text: length(e.bill.nanoseconds / e.bill.requests), sort: e.bill.nanoseconds / e.bill.requests})},
				{title: 'On a thread', sort: 'number', cell: e => ({text: make('details', make('summary', share(e.bill.threadNanoseconds, e)), told(e)),
					sort: e.bill.threadNanoseconds, title: 'running, or blocked'})},
				{title: 'Of it, during a call', sort: 'number', cell: e => ({text: share(during(e), e), sort: during(e)})},
				{title: 'Awaiting calls', sort: 'number', cell: e => {
					const ns = e.bill.calls.reduce((sum, c) => sum + c.awaitNanoseconds, 0);
					return {text: share(ns, e), sort: ns};
				}},
				{title: 'Awaiting something else', sort: 'number', cell: e => ({text: share(e.bill.otherAwaitNanoseconds, e), sort: e.bill.otherAwaitNanoseconds,
					title: 'a timer, a semaphore, the pool, the client'})},
				{title: 'Not seen', sort: 'number', cell: e => ({text: share(e.bill.unseenNanoseconds, e), sort: e.bill.unseenNanoseconds})},
				{title: 'Endpoint and its calls', sort: 'text', cls: 'name', cell: e => ({sort: e.name, search: e.bill.calls.map(c => c.name).join(' '),
					text: e.bill.calls.length ? make('details', make('summary', e.name), calls(e)) : e.name})},
			],
		},
		slow.some(e => e.slowestRequest) && {kind: 'own', title: 'Requests over time', draw: host => host.append(make('h2', 'Requests over time'),
			...slow.filter(e => e.slowestRequest).map(falls))},
		slow.some(e => e.code.tree) && {kind: 'own', title: 'CPU time of requests', draw: host => host.append(make('h2', 'CPU time of requests'),
			...slow.filter(e => e.code.tree).map(flame))},
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
		{kind: 'about', texts: ['Each request is told by ASP.NET Core where it begins and where it ends; nothing is stopped. Endpoints are sorted by the sum ' +
			'of the time of their requests, with the ages of those in flight.',
		'In paths only words stay; a value is {the name of its parameter}, {id} or {name}. Query strings, headers and bodies are not read.'],
			rows: [
				['Began', count(s.began)],
				['Ended', count(s.ended)],
				['Ended, and their beginning was not seen', count(s.beginningNotSeen)],
				['Not followed', count(s.notFollowed)],
				['Lost', count(s.dropped + s.malformed)],
				['Requests followed', s.followedPercent >= 99.95 ? 'all' : `for ${s.followedPercent.toFixed(0)}% of the time: ` + (s.countedPercent >= 99.95 ?
					'their number is exact, shares of endpoints and latencies are estimated' : 'counts, rates and latencies are estimated from it')],
				['Which thread works for which request', `told for ${s.switchesPercent.toFixed(0)}% of the time`],
				s.leftOut > 0 && ['Left out of the bills', count(s.leftOut)],
				['Connections whose client waits since before the session', count(r.measured.unansweredCount || 0)],
				['Samples of CPU time', s.cpuSamplePeriodNanoseconds ? `${count(s.cpuSamples)} while it was told which thread works for which request, ` +
					`${count(s.cpuSamplesOfRequests)} of them of requests` : 'not allowed'],
				['Context switches recorded', `${s.waitsPercent.toFixed(0)}% of the time` + (s.threadLooks ? `, ${count(s.threadLooks)} looks at the threads` : '')],
				...Report.costRows(r),
			]},
	];
});
