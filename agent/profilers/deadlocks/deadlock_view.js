'use strict';
/* The sections of a Deadlocks report. */
Report.show(r => {
	const {count, make} = Report;
	const holder = t => t.waitsFor === null ? null : r.locks[t.waitsFor];
	const name = t => `${t.id}${t.name ? ` "${t.name}"` : ''}`;
	const stack = t => t.stack.length ? make('details', make('summary', (t.stack.find(f => f.layer === 'application') || t.stack[0]).name),
		make('ol.stack', t.stack.map(f => make('li', Report.source.frame(f))))) : 'not known';
	const threads = [...r.threads].sort((a, b) => (a.circle ?? 1e9) - (b.circle ?? 1e9) || b.behind - a.behind || a.id - b.id);
	return [
		{kind: 'facts', items: [
			{key: 'Threads in a circle', value: count(r.threads.filter(t => t.circle !== null).length), small: 'of ' + count(r.looks.threads),
				warn: r.diagnosis.finding === 'deadlock'},
			{key: 'Wait for a monitor', value: count(r.looks.waiting), note: count(r.looks.lasting) + ' of them from one look to the other'},
			{key: 'Monitors', value: count(r.looks.monitors), note: 'in the runtime\u2019s table'},
			{key: 'Between the looks', value: r.looks.secondsBetween.toFixed(1) + ' s'},
			{key: 'Application paused', value: Report.pause(r)},
		]},
		{kind: 'table', id: 'threads', title: 'Threads that wait for a monitor, and those that hold one', search: 'Search threads and methods', rows: threads,
			strong: t => t.circle !== null, empty: 'No thread waits for a monitor.', columns: [
				{title: 'Thread', sort: 'number', by: t => t.id, cell: name},
				{title: 'Waits for the lock of', cell: t => holder(t) ? holder(t).heldBy ? 'thread ' + holder(t).heldBy : 'nobody' : ''},
				{title: 'Behind it', sort: 'number', by: t => t.behind, cell: t => count(t.behind)},
				{title: 'Since the first look', cell: t => t.lasting ? 'yes' : t.waitsFor === null ? '' : 'no'},
				{title: 'Where', cls: 'name', cell: t => ({text: stack(t), search: t.stack.map(f => f.name).join(' ')})},
			]},
		{kind: 'about', texts: ['The runtime\u2019s table of monitors and the kernel\u2019s view of each thread were read twice from outside; nothing was ' +
			'stopped. A thread ' +
			'counts as deadlocked when it waited for the same lock, held by the same thread, at both looks and did not run in between. Monitors are what ' +
			'lock and Monitor.Enter use; System.Threading.Lock, SemaphoreSlim, ReaderWriterLockSlim, Mutex and tasks are not read.'],
			rows: Report.costRows(r)},
	];
});
