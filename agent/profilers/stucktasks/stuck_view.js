'use strict';
/* The sections of a StuckTasks report. */
Report.show(r => {
	const {count, make} = Report;
	const words = {unknown: 'not known', nothing: 'it runs', completion: 'a TaskCompletionSource', work: 'the thread pool', semaphore: 'a SemaphoreSlim',
		timer: 'a timer', socket: 'a socket', channel: 'a channel', pipe: 'a pipe', http: 'HTTP', database: 'a database', server: 'a client', other: 'other'};
	const call = c => c.name + (c.await ? ` (await ${c.await})` : '');
	const chain = g => make('details', make('summary', call(g.calls.find(c => c.layer === 'application') || g.calls[0] || {name: 'not known'})),
		make('ol.stack', g.calls.map(c => make('li', call(c)))));
	const about = g => g.unheld ? 'nothing else holds what it waits for' : g.frozen ? 'none was released' : g.bounded ? 'for a time at most' :
		g.forConnection ? 'for a connection of a pool' :
		g.blockedThreads ? 'threads block on it' : '';
	return [
		{kind: 'facts', items: [
			{key: 'Operations that wait', value: count(r.looks.operations), note: count(r.looks.lasting) + ' at the same await at both looks',
				warn: r.diagnosis.finding === 'stuck'},
			{key: 'Async methods not ended', value: count(r.looks.boxes), note: count(r.looks.running) + ' of them run, or are about to'},
			r.pool && r.pool.most < 2147483647 && {key: 'Connections in use', value: `${count(r.pool.open - (r.pool.idle || 0))} of ${count(r.pool.most)}`,
				note: Report.plural(r.pool.waiting, 'operation waits', 'operations wait') + ' for one'},
			{key: 'Failed, unseen', value: count(r.looks.unseenFaults), note: 'tasks whose exception nobody looked at'},
			{key: 'Between the looks', value: r.looks.secondsBetween.toFixed(1) + ' s'},
			{key: 'Application paused', value: Report.pause(r)},
		]},
		{kind: 'table', id: 'groups', title: 'Operations by where they wait', search: 'Search methods and types', rows: r.groups,
			strong: g => g.unheld > 0 || g.frozen > 0, empty: 'No async operation waits.', columns: [
				{title: 'Operations', sort: 'number', by: g => g.operations, cell: g => count(g.operations)},
				{title: 'More that wait for the same task', sort: 'number', by: g => g.behind, cell: g => count(g.behind)},
				{title: 'Wait since the first look', sort: 'number', by: g => g.lasting, cell: g => count(g.lasting)},
				{title: 'Wait for', cell: g => words[g.waitsFor] || g.waitsFor},
				{title: 'Remark', cell: about},
				{title: 'In', cls: 'name', cell: g => ({text: chain(g), search: g.calls.map(c => c.name).join(' ') + ' ' + g.awaited})},
			]},
		{kind: 'about', texts: ['The heap was walked twice. An operation is an async method that has not ended and waits for something that is no other async ' +
			'method; below it stand those that wait for it, by their continuations. One is the same at both looks when it lies at the same place in memory, ' +
			'at the same await, and waits for the same object: what a garbage collection moved in between counts as new.'],
			rows: Report.costRows(r)},
	];
});
