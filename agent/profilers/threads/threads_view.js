'use strict';
/* The sections of a Threads report. */
Report.show(r => {
	const {count, make} = Report;
	const thread = t => `${t.id}${t.name ? ` "${t.name}"` : ''}`;
	const name = i => i === null ? '' : r.methods[i].name;
	const seconds = s => s === null ? 'not known' : s < 100 ? s.toFixed(1) + ' s' : s < 7200 ? (s / 60).toFixed(0) + ' min' : (s / 3600).toFixed(1) + ' h';
	const group = t => r.groups[t.group];
	const stack = t => t.stack.length ? make('details', make('summary', name(group(t).place ?? t.stack[0])),
		Report.source.stack(t.stack.map(i => ({name: name(i)})))) : 'not known';
	const kinds = new Map(r.kinds.map(k => [k.kind, k.title]));
	const most = Math.max(1, r.tree.total[0]);
	return [
		{kind: 'facts', items: [
			{key: 'Threads', value: count(r.looks.threads), note: `${count(r.looks.threadsFirst)} at the first look, ${count(r.looks.ended)} of them ended`},
			{key: 'Did not run', value: count(r.looks.still), small: 'of ' + count(r.looks.threads), note: 'between the looks',
				warn: r.diagnosis.finding === 'threads'},
			{key: 'Between the looks', value: r.looks.secondsBetween.toFixed(1) + ' s'},
			r.looks.containerThreadsMax > 0 ? {key: 'In the container', value: count(r.looks.containerThreads),
				small: 'of at most ' + count(r.looks.containerThreadsMax), level: r.looks.containerThreads / r.looks.containerThreadsMax} : null,
			{key: 'Application paused', value: Report.pause(r)},
		]},
		{kind: 'tabs', label: 'Views', tabs: [
			{id: 'groups', title: 'Where they stand', sections: [
				{kind: 'table', id: 'groups', search: 'Search places', rows: r.groups, strong: g => !g.idle && g.untimed > 1, columns: [
					{title: 'Threads', sort: 'number', by: g => g.threads, cell: g => count(g.threads)},
					{title: 'Did not run', sort: 'number', by: g => g.still, cell: g => count(g.still)},
					{title: 'What they do', cls: 'name', cell: g => ({text: Report.source.frame({name: g.text, place: g.source}),
						search: g.text + ' ' + name(g.call), title: name(g.call)})},
				]},
			]},
			{id: 'tree', title: 'Stacks as a tree', sections: [
				{kind: 'tree', id: 'stacks', label: 'Stacks of all threads, from the thread\u2019s first function on', heading: 'Function',
					search: 'Search functions', parent: r.tree.parent, weight: r.tree.total,
					name: i => name(r.tree.method[i]), full: i => name(r.tree.method[i]),
					strong: i => r.methods[r.tree.method[i]].layer === 'application',
					columns: [
						{title: 'Threads', cell: i => count(r.tree.total[i])},
						{title: 'Stand here', cell: i => r.tree.self[i] ? count(r.tree.self[i]) : ''},
					],
					found: (lines, weight) => `${Report.plural(lines, 'function')}, ${count(weight)} of ${Report.plural(most, 'thread')}`,
					empty: 'No stack could be read.'},
			]},
			{id: 'threads', title: 'All threads', sections: [
				{kind: 'table', id: 'threads', search: 'Search threads and functions', rows: r.threads, strong: t => t.still && !group(t).idle && !t.timed, columns: [
					{title: 'Thread', sort: 'number', by: t => t.id, cell: thread},
					{title: 'Kind', sort: 'text', cell: t => kinds.get(group(t).kind).replace(/s$/, '')},
					{title: 'State', sort: 'text', cell: t => t.still ? 'did not run' : t.first ? 'ran' : 'new'},
					{title: 'Began', sort: 'number', by: t => t.ageSeconds ?? -1, cell: t => t.ageSeconds === null ? 'not known' : seconds(t.ageSeconds) + ' ago'},
					{title: 'CPU', sort: 'number', by: t => t.cpuSeconds ?? -1, cell: t => t.cpuSeconds === null ? '' : (1000 * t.cpuSeconds).toFixed(1) + ' ms'},
					{title: 'Where', cls: 'name', cell: t => ({text: stack(t), search: t.stack.map(name).join(' ')})},
				]},
			]},
		]},
		{kind: 'about', texts: ['The kernel\u2019s figures of all threads were read twice from outside, and the stacks of the threads that slept ' +
			'at the second look from the process\u2019s memory; nothing was stopped. A thread \u201cdid not run\u201d when the kernel ' +
			'switched to it not once between the looks. ' +
			(r.looks.sampled ? 'Of threads that ran at each look, the stack is the last one that a sample of the CPUs had.' :
				'Threads that ran at each look have no stack: the kernel did not allow samples of the CPUs.')],
			rows: [['First look', r.looks.firstMilliseconds.toFixed(1) + ' ms'], ['Second look', r.looks.secondMilliseconds.toFixed(1) + ' ms'],
				...Report.costRows(r)]},
	];
});
