'use strict';
/* The sections of a MemoryLeak report. */
Report.show(r => {
	const {make, count, bytes, change, spark, breakable} = Report;
	const g = r.growth, walks = r.walks, last = walks.length - 1;
	const typesOnly = walks.some(w => w.roots === 'none');
	const ROOTS = {exact: 'exact, by a forced collection before each walk', noCollection: 'without a collection', none: 'none, objects were counted by type'};
	const MEBI = 1024 * 1024;

	/* "levelledOff" as people write it. */
	const words = name => name.replace(/[A-Z]/g, c => ' ' + c.toLowerCase());
	/* As Kubernetes' objects have it, "512Mi", else "412 MB". */
	const limit = n => n >= MEBI && n % MEBI === 0 ? n / MEBI + 'Mi' : bytes(n);
	/* Two digits are more than a forecast can promise; rounded down, as in the diagnosis (leak_limit.c). */
	const rounded = v => v < 10 ? Math.floor(v) : v < 100 ? 5 * Math.floor(v / 5) : 10 * Math.floor(v / 10);
	function time(s) {
		if (s < 120) return rounded(s) + ' s';
		if (s < 3 * 3600) return rounded(s / 60) + ' min';
		return s < 48 * 3600 ? rounded(s / 3600) + ' h' : rounded(s / 86400) + ' days';
	}

	const column = (title, by, show) => ({title, sort: 'number', by, cell: row => show(by(row))});
	const size = (title, by) => column(title, by, bytes);
	const grown = (title, by) => column(title, by, n => change(n));
	const figure = (title, by, show) => ({title, cls: 'n', cell: row => show(by(row))});
	const used = (walk, generation) => walk.generations.find(space => space.generation === generation).usedBytes;
	const memory = (title, head, rows) => ({kind: 'table', title, rows, columns: [{title: head, sort: 'text', cls: 'name', cell: row => row.name},
		grown('Growth', row => row.last - row.first), size('First', row => row.first), size('Last', row => row.last)]});
	const held = figures => figures.residentBytes + figures.swapBytes;

	return [
		{kind: 'facts', items: [
			{key: 'Held objects', value: change(g.heapBytes), warn: r.diagnosis.finding === 'grows', spark: walks.map(w => w.bytes),
				sparkLabel: 'Bytes of held objects over the walks'},
			{key: 'What keeps growing', value: bytes(g.heldBytes), warn: g.heldBytes > 0, note: `confidence: ${g.confidence}; churn: ${bytes(g.churnBytes)}`},
			g.unmanagedBytes !== null && {key: 'Unmanaged memory', value: change(g.unmanagedBytes), warn: r.diagnosis.finding === 'unmanaged',
				note: 'outside of the managed heap'},
			g.freeBytes !== null && {key: 'Free in the heap', value: change(g.freeBytes), note: 'kept by the runtime'},
			g.limitKind && {key: g.limitKind === 'container' ? 'Container\u2019s limit' : 'Node\u2019s free memory', warn: g.secondsToLimit !== null,
				value: g.secondsToLimit === null ? 'not near' : 'in ' + time(g.secondsToLimit),
				note: (g.limitKind === 'container' ? bytes(g.usedBytes) + ' of ' : '') + limit(g.limitBytes)},
			{key: 'Application paused', value: Report.pause(r), note: 'at most, by ' + Report.plural(walks.length, 'heap walk')},
		]},
		{kind: 'tabs', tabs: [
			{id: 'holders', title: 'What grew', sections: [{
				kind: 'table', id: 'holders', title: 'What grew, and what retains it', search: 'Search paths and types', rows: r.holders,
				empty: typesOnly ? 'Not known: objects were only counted by type, see the diagnosis.' : 'Nothing notable.',
				columns: [
					grown('Growth', h => h.growthBytes), grown('A minute', h => h.bytesPerMinute), column('More objects', h => h.growthCount, n => change(n, count)),
					{title: 'Over the walks', cls: 'series', cell: h => spark(h.bytes, 'Bytes over the walks')},
					{title: 'Verdict', sort: 'text', cell: h => words(h.verdict)},
					{title: 'Path', sort: 'text', cls: 'name', cell: h => [...breakable(h.path), h.pattern === 'other' ? null : make('span.badge', words(h.pattern))]},
				],
			}]},
			{id: 'types', title: 'Types', sections: [{
				kind: 'table', id: 'types', title: 'Types', search: 'Search types', rows: r.types,
				note: r.leftOut.types ? `${count(r.types.length)} of ${count(r.types.length + r.leftOut.types)} types: those that grew most.` : '',
				columns: [
					grown('Growth', t => t.growthBytes), column('More objects', t => t.growthCount, n => change(n, count)),
					column('Objects now', t => t.counts[last], count), size('Bytes now', t => t.bytes[last]),
					size('Survivors at most', t => t.survivorsAtMostBytes), size('Held by nothing known', t => t.looseBytes),
					{title: 'Type', sort: 'text', cls: 'name', cell: t => breakable(t.type)}, {title: 'Assembly', sort: 'text', cls: 'mod', cell: t => t.assembly || ''},
				],
			}]},
			{id: 'memory', title: 'Memory', sections: r.memory ? [
				memory('Memory of the process', 'In memory or swapped out',
					r.memory.kinds.map(k => ({name: k.title, first: held(k.first), last: held(k.last)}))),
				memory('Mappings that grew', 'Mapping', r.memory.mappings.map(m => ({name: m.name, first: m.firstBytes, last: m.lastBytes}))),
			] : [{kind: 'text', texts: ['Not known: the agent may not read this process\u2019s memory map.']}]},
			{id: 'walks', title: 'Walks', sections: [{
				kind: 'table', id: 'walks', title: 'Heap walks', rows: walks,
				columns: [
					figure('After', w => w.atSeconds, n => n.toFixed(1) + ' s'), figure('Objects held', w => w.objects, count), figure('Bytes held', w => w.bytes, bytes),
					figure('Held by nothing known', w => w.unreachableBytes, bytes), figure('Gaps', w => w.freeBytes, bytes),
					figure('Gen 2', w => used(w, 'gen2'), bytes), figure('Large objects', w => used(w, 'loh'), bytes),
					figure('Pinned', w => w.pinnedObjects, count), figure('Process', w => w.residentBytes, n => n === null ? 'not known' : bytes(n)),
					figure('Stopped for', w => w.stopMicroseconds, n => (n / 1000).toFixed(1) + ' ms'),
				],
			}]},
			{id: 'about', title: 'About', sections: [{
				kind: 'about',
				texts: ['The heap was walked at the session\u2019s ends (and between). What hangs on the same path from the same root was compared: objects move ' +
					'and die, paths stay. Each object counts on one path, the shortest from the most lasting root that reaches it: statics first, stacks last.'],
				rows: [
					['Roots', ROOTS[walks[0].roots] + (walks[0].rootsWhy ? ': ' + walks[0].rootsWhy : '')],
					['Slowest growth that would be seen', `${(g.detectableBytesPerMinute / 1000).toFixed(0)} kB a minute`],
					['Holders left out', r.leftOut.holders ? count(r.leftOut.holders) : null],
					['Small paths and types left out', r.leftOut.notKept ? count(r.leftOut.notKept) : null],
					...Report.costRows(r),
				],
			}]},
		]},
	];
});
