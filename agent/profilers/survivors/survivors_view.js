'use strict';
/* The sections of a GCSurvivors report. */
Report.show(r => {
	const {make, breakable, count, bytes, share, milliseconds, bar} = Report;
	const MATTERS = 0.1, HOLDER_MATTERS = 0.05; /* parts of the heap */
	const heap = r.heap, tree = r.tree, walk = r.walk, counted = walk.roots === 'none';
	const NOT_KNOWN = 'Not known: objects were only counted by type, see the diagnosis.';
	const GENERATIONS = {
		gen0: ['generation 0', 'youngest'], gen1: ['generation 1', 'young'], gen2: ['generation 2', 'old'],
		loh: ['large object heap', 'LOH: 85,000 bytes and more'], poh: ['pinned object heap', 'POH: allocated pinned'],
		frozen: ['frozen', 'literals, never collected'],
	};
	const used = name => heap.generations.find(g => g.generation === name).usedBytes;

	/* "System.Collections.Generic.Dictionary<int, Shop.Order>": "Dictionary<int, Order>". What is a namespace and what a type around another, only
	 * the report's namespaces tell. */
	const spaces = new Set(r.namespaces.map(n => n.name)), shortened = new Map();
	function short(name) {
		if (!shortened.has(name)) shortened.set(name, name.replace(/[\p{L}\p{N}_]+(?:\.[\p{L}\p{N}_]+)+/gu, dotted => {
			for (let end = dotted.lastIndexOf('.'); end > 0; end = dotted.lastIndexOf('.', end - 1))
				if (spaces.has(dotted.slice(0, end))) return dotted.slice(end + 1);
			return dotted;
		}));
		return shortened.get(name);
	}

	/* columns ------------------------------------------------------------------------------------------------- */

	const known = (value, show) => value === null ? {text: 'not known', sort: -1} : {text: show(value), sort: value};
	const amount = (title, value, show = bytes) => ({title, sort: 'number', cell: row => known(value(row), show)});
	const parts = value => [
		{title: 'Share', sort: 'number', cell: row => ({text: share(value(row), heap.bytes), sort: value(row)})},
		{title: '', cls: 'bar', cell: row => bar(heap.bytes ? value(row) / heap.bytes : 0)},
	];
	const much = value => row => value(row) >= heap.bytes * MATTERS;
	const held = row => row.retainedBytes ?? row.shallowBytes;
	const own = [amount('Own bytes', row => row.shallowBytes), amount('Objects', row => row.objects, count)];
	const groups = (id, title, one, rows) => ({id, title, sections: [{
		kind: 'table', id: one.toLowerCase() + '-table', search: 'Search ' + id, rows, strong: much(held),
		columns: [{title: one, sort: 'text', cls: 'name', cell: row => breakable(row.name || '(none)')}, amount('Retained', row => row.retainedBytes), ...parts(held),
			...own],
	}]});

	/* paths --------------------------------------------------------------------------------------------------- */

	function step(s, i) {
		if (!i) return make('li.root', breakable(s.name));
		return make('li', s.field ? [make('span.field', s.field), ' '] : null, breakable(short(s.name)),
			s.objects === 1 ? null : make('b', ' x ' + count(s.objects)), s.nested ? make('span.badge', 'holds its like') : null);
	}
	const path = p => ({text: make('ol.path', p.steps.map(step)), search: p.steps.map(s => `${s.field || ''} ${s.name}`).join(' '), sort: p.path,
		title: p.steps.map(s => s.name).join('\n')});

	const generation = g => make('span', make('span.dot.g' + heap.generations.indexOf(g)), ' ' + GENERATIONS[g.generation][0] + ' ',
		make('span.badge', GENERATIONS[g.generation][1]));
	const all = heap.bytes + heap.freeBytes, largest = r.holders[0];

	return [
		{kind: 'facts', items: [
			{key: 'On the heap', value: bytes(heap.bytes), note: Report.plural(walk.objects, 'object')},
			largest && {key: 'Largest holder', value: bytes(largest.retainedBytes), note: share(largest.retainedBytes, heap.bytes) + ' of the heap',
				warn: largest.retainedBytes * 2 >= heap.bytes},
			{key: 'Old generation', value: bytes(used('gen2')), note: 'generation 2'},
			{key: 'Large objects', value: bytes(used('loh')), note: 'large object heap'},
			{key: 'Free space', value: bytes(heap.freeBytes), note: 'between objects', warn: heap.freeBytes > heap.bytes},
			{key: 'Application paused', value: Report.pause(r), note: 'by the profiler'},
		]},
		{kind: 'split', label: 'The heap by generation', parts: [
			...heap.generations.map((g, i) => ({name: GENERATIONS[g.generation][0], size: g.usedBytes, cls: 'g' + i})),
			{name: 'free space', size: heap.freeBytes, cls: 'g6'},
		].filter(part => part.size).map(part => ({...part, share: part.size / all, text: bytes(part.size)}))},
		{kind: 'tabs', tabs: [
			{id: 'tree', title: 'Retained by', sections: [{
				kind: 'tree', id: 'tree', label: 'Retained by', heading: 'Holder, and what it alone holds', search: 'Search holders and types',
				parent: tree.parent, weight: tree.retainedBytes, full: i => r.names[tree.name[i]],
				name: i => tree.kind[i] < 0 ? short(r.names[tree.name[i]]) : r.names[tree.name[i]],
				strong: i => tree.kind[i] < 0 ? tree.shallowBytes[i] >= heap.bytes * MATTERS : tree.retainedBytes[i] >= heap.bytes * HOLDER_MATTERS,
				columns: [
					{title: 'Holds', cell: i => bytes(tree.retainedBytes[i])},
					{title: 'Share', cell: i => share(tree.retainedBytes[i], heap.bytes)},
					{title: '', cls: 'bar', cell: i => bar(tree.retainedBytes[i] / heap.bytes)},
					{title: 'Objects', cell: i => tree.objects[i] ? count(tree.objects[i]) : ''},
					{title: 'Own bytes', cell: i => tree.kind[i] < 0 ? bytes(tree.shallowBytes[i]) : ''},
				],
				found: (lines, sum, some) => `${Report.plural(lines, 'line holds', 'lines hold')} ${some ? 'more than ' : ''}${bytes(sum)}` +
					` (${share(sum, heap.bytes)})`,
				empty: counted ? NOT_KNOWN : 'No holder has as much as a 2,000th of the heap.',
				note: 'Each line holds alone all that is below it: it would go with it. Objects of one type are one line.',
			}]},
			{id: 'paths', title: 'Paths', sections: [{
				kind: 'table', id: 'path-table', search: 'Search paths', rows: r.paths, strong: much(p => p.bytes), empty: counted ? NOT_KNOWN : null,
				columns: [{title: 'Path', sort: 'text', cls: 'name', cell: path}, amount('Bytes', p => p.bytes), ...parts(p => p.bytes)],
			}]},
			{id: 'types', title: 'Types', sections: [{
				kind: 'table', id: 'type-table', search: 'Search types', rows: r.types, strong: much(held),
				columns: [{title: 'Type', sort: 'text', cls: 'name', cell: t => ({text: breakable(short(t.name)), title: t.name, search: t.name, sort: short(t.name)})},
					amount('Retained', t => t.retainedBytes), ...parts(held), ...own, amount('Old or large', t => t.generationBytes[2] + t.generationBytes[3]),
					{title: 'Namespace', sort: 'text', cls: 'mod', cell: t => ({text: t.namespace, title: t.namespace})},
					{title: 'Assembly', sort: 'text', cls: 'mod', cell: t => ({text: t.assembly, title: t.assembly})}],
				note: r.typesLeftOut.types ? `Not listed: ${Report.plural(r.typesLeftOut.types, 'type')} with ${bytes(r.typesLeftOut.shallowBytes)} in ` +
					`${Report.plural(r.typesLeftOut.objects, 'object')}.` : null,
			}]},
			groups('namespaces', 'Namespaces', 'Namespace', r.namespaces),
			groups('assemblies', 'Assemblies', 'Assembly', r.assemblies),
			{id: 'generations', title: 'Generations', sections: [{
				kind: 'table', id: 'generation-table', rows: heap.generations,
				columns: [{title: 'Generation', sort: 'text', cls: 'name', cell: generation}, amount('Objects\u2019 bytes', g => g.usedBytes), ...parts(g => g.usedBytes),
					amount('Objects', g => g.objects, count), amount('Free space', g => g.freeBytes), amount('Largest gap', g => g.largestFreeBytes),
					amount('Pinned', g => g.pinnedObjects, count), amount('Garbage', g => g.unreachableBytes)],
			}, {
				kind: 'table', id: 'kind-table', title: 'By kind of root', rows: r.rootKinds.filter(k => k.roots || k.retainedBytes), strong: much(k => k.retainedBytes),
				empty: counted ? NOT_KNOWN : null,
				columns: [{title: 'Held by', sort: 'text', cls: 'name', cell: k => k.title}, amount('Holds', k => k.retainedBytes), ...parts(k => k.retainedBytes),
					amount('Roots', k => k.roots, count)],
			}]},
			{id: 'about', title: 'About', sections: [{
				kind: 'about',
				texts: [counted ? 'Objects were counted by type at one moment, without their references: how many there are and what they take, not what ' +
					'retains them. Shares are those of their own bytes. What nothing holds any more is counted too, until its collection.'
					: 'All objects of the heap were read at one moment, with their references. To retain a byte is to be the only one that holds it: what ' +
					'would be freed if the holder let go. What static fields, thread statics or handles reach is held by those alone: stacks and the ' +
					'finalizer queue, which refer to it for the moment, take nothing from them. Paths are the shortest ways from a root.'],
				rows: [
					['Roots', {exact: 'all, by a forced collection', noCollection: 'statics, handles and stacks, without a collection', none: 'none'}[walk.roots]],
					['Why so', walk.rootsWhy || null],
					['Objects', count(walk.objects)],
					counted ? ['Seen of the heap, at least', walk.typesOnly.seenPercent.toFixed(0) + '%'] : ['References', count(walk.references)],
					['Stop for the roots', walk.collectionStopMicroseconds && milliseconds(walk.collectionStopMicroseconds)],
					['Stop for the walk', walk.walkStopMicroseconds && milliseconds(walk.walkStopMicroseconds)],
					['Longest stop, as predicted', walk.predictedStopMicroseconds && milliseconds(walk.predictedStopMicroseconds)],
					['Analysis', count(walk.analysisMilliseconds) + ' ms'],
					...Report.costRows(r),
				],
			}]},
		]},
	];
});
