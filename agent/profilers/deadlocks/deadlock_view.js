'use strict';
/* The sections of a Deadlocks report. */
Report.show(r => {
	const {count, make} = Report;
	const holder = t => t.waitsFor === null ? null : r.locks[t.waitsFor];
	const lock = l => l.kind === 'task' ? `a task that thread ${l.heldBy} runs` :
		(l.type || 'a lock') + (l.heldBy ? `, held by thread ${l.heldBy}` : ', whose holder is not known');
	const waits = t => holder(t) ? lock(holder(t)) : t.peer || '';
	const name = t => `${t.id}${t.name ? ` "${t.name}"` : ''}`;
	const stack = t => t.stack.length ? make('details', make('summary', (t.stack.find(f => f.layer === 'application') || t.stack[0]).name),
		Report.source.stack(t.stack)) : 'not known';
	const threads = [...r.threads].sort((a, b) => (a.circle ?? 1e9) - (b.circle ?? 1e9) || b.behind - a.behind || a.id - b.id);
	return [
		{kind: 'facts', items: [
			{key: 'Threads in a circle', value: count(r.threads.filter(t => t.circle !== null).length), small: 'of ' + count(r.looks.threads),
				warn: r.diagnosis.finding === 'deadlock'},
			{key: 'Threads that wait for a lock', value: count(r.looks.waiting), note: count(r.looks.lasting) + ' of them since the first look'},
			{key: 'Monitors', value: count(r.looks.monitors), note: 'in the runtime\u2019s table'},
			{key: 'Time between the two looks', value: r.looks.secondsBetween.toFixed(1) + ' s'},
			{key: 'Application paused', value: Report.pause(r)},
		]},
		{kind: 'table', id: 'threads', title: 'Threads that wait, and the threads that they wait for',
			search: 'Search threads and methods', rows: threads, strong: t => t.circle !== null,
			empty: 'No thread waits for a lock, or for a task that another thread is known to run.', columns: [
				{title: 'Thread', sort: 'number', by: t => t.id, cell: name},
				{title: 'Waits for', cell: waits},
				{title: 'Threads that wait for it', sort: 'number', by: t => t.behind, cell: t => count(t.behind)},
				{title: 'Waits since the first look', cell: t => t.lasting ? 'yes' : t.waitsFor === null ? '' : 'no'},
				{title: 'Where', cls: 'name', cell: t => ({text: stack(t), search: t.stack.map(f => f.name).join(' ')})},
			]},
		{kind: 'about', texts: ['The runtime\u2019s table of monitors and the kernel\u2019s view of each thread were read twice from outside; nothing was ' +
			'stopped. A thread ' +
			'counts as deadlocked when it waited for the same lock, held by the same thread, at both looks and did not run in between. ' +
			(r.looks.otherLocks ? 'Monitors (lock, Monitor.Enter), System.Threading.Lock and ReaderWriterLockSlim are read' :
				'Monitors (lock, Monitor.Enter) are read, ReaderWriterLockSlim on .NET 9 and newer only') +
			(r.looks.taskWaiters === null ? '' : ', and tasks that threads block on') +
			'. SemaphoreSlim, Mutex and readers of a ReaderWriterLockSlim do not name who is waited for' +
			(r.looks.taskWaiters === null ? ', nor do tasks here' : '') + '; async methods that wait for each other at an await are shown by StuckTasks.'],
			rows: Report.costRows(r)},
	];
});
