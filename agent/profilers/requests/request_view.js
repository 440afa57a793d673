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
	const slow = r.endpoints.filter(e => !e.stream), streams = r.endpoints.filter(e => e.stream || e.streams);
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
				{title: 'Endpoint', sort: 'text', cls: 'name', cell: e => ({text: slowest(e), sort: e.name})},
			],
		},
		{
			kind: 'table', id: 'bills', title: 'Where the time of the slowest requests went', search: 'Search endpoints and calls',
			rows: slow.filter(e => e.bill.requests), empty: 'No request ended.',
			columns: [
				{title: 'Requests', sort: 'number', cell: e => ({text: count(e.bill.requests), sort: e.bill.requests})},
				{title: 'Mean', sort: 'number', cell: e => ({text: length(e.bill.nanoseconds / e.bill.requests), sort: e.bill.nanoseconds / e.bill.requests})},
				{title: 'On a thread', sort: 'number', cell: e => ({text: share(e.bill.threadNanoseconds - during(e), e), sort: e.bill.threadNanoseconds,
					title: 'running, or blocked by a lock or synchronous I/O'})},
				{title: 'On a thread during a call', sort: 'number', cell: e => ({text: share(during(e), e), sort: during(e)})},
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
		streams.length > 0 && {
			kind: 'table', id: 'streams', title: 'Streams: web sockets and server-sent events, which are not slow', search: 'Search streams', rows: streams,
			columns: [
				{title: 'Ended', sort: 'number', cell: e => ({text: count(e.streams), sort: e.streams})},
				{title: 'Open', sort: 'number', cell: e => ({text: count(e.inFlight), sort: e.inFlight})},
				time('Oldest', 'oldestNanoseconds'),
				{title: 'Endpoint', sort: 'text', cls: 'name', cell: e => e.name},
			],
		},
		{kind: 'about', texts: ['Each request is told by ASP.NET Core where it begins and where it ends; nothing is stopped. Endpoints are sorted by the sum ' +
			'of the time of their requests, with the ages of those in flight.',
		'In paths only words stay; what looks like a value is {id} or {name}. Query strings, headers and bodies are not read.'],
			rows: [
				['Began', count(s.began)],
				['Ended', count(s.ended)],
				['Ended, and their beginning was not seen', count(s.beginningNotSeen)],
				['Not followed', count(s.notFollowed)],
				['Lost', count(s.dropped + s.malformed)],
				['Which thread works for which request', `told for ${s.switchesPercent.toFixed(0)}% of the time`],
				s.leftOut > 0 && ['Left out of the bills', count(s.leftOut)],
				['In flight since before the session', 'not seen'],
				['On a thread', 'not measured apart: CPU, locks, synchronous I/O, garbage collections, waiting for a CPU'],
				...Report.costRows(r),
			]},
	];
});
