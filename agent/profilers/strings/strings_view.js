'use strict';
/* The sections of a DuplicatedStrings report. */
Report.show(r => {
	const {count, bytes, percent, share, milliseconds} = Report;
	const KINDS = {digit: 'digits', upper: 'upper-case letters', lower: 'lower-case letters', space: 'spaces', punctuation: 'punctuation',
		control: 'control characters', other: 'beyond ASCII', surrogate: 'surrogates'};
	const CLASSIFIED = 64; /* characters of each string whose kinds are known */
	const s = r.strings;
	const amount = (title, key, show = bytes) => ({title, sort: 'number', cell: row => ({text: show(row[key]), sort: row[key]})});
	const remedy = {title: 'Remedy', sort: 'text', cell: row => ({text: row.remedy, title: r.remedies[row.remedy]})};
	const kinds = row => (row.kinds.map(k => KINDS[k]).join(', ') || 'none') + (row.characters > CLASSIFIED ? ` (in the first ${CLASSIFIED})` : '');
	return [
		{kind: 'facts', items: [
			{key: 'Wasted on copies', value: bytes(s.wastedBytes), note: percent(s.percentOfHeap) + ' of the heap', warn: r.diagnosis.finding !== 'none'},
			{key: 'Strings', value: count(s.count), small: bytes(s.bytes), note: share(s.bytes, r.heap.bytes) + ' of the heap'},
			{key: 'Copies', value: count(s.copies), note: share(s.copies, s.count) + ' of all strings'},
			{key: 'Different values', value: count(s.values), note: count(s.duplicatedValues) + ' of them more than once'},
			{key: 'Application paused', value: Report.pause(r), note: 'once, for the walk over the heap'},
		]},
		{kind: 'tabs', tabs: [
			{id: 'holders', title: 'Retained by', sections: [{
				kind: 'table', id: 'holders', search: 'Search fields', rows: r.holders, empty: 'No object holds a string that has a copy.',
				columns: [
					amount('Wasted', 'wastedBytes'), amount('Strings', 'strings', count), amount('Copies', 'copies', count),
					{title: 'Values', sort: 'number', cell: h => h.values === null ? {text: 'many', sort: Infinity} : {text: count(h.values), sort: h.values}},
					{title: 'Field', sort: 'text', cls: 'name', cell: h => h.name}, {title: 'Held by', sort: 'text', cls: 'name', cell: h => h.heldBy}, remedy,
				],
			}]},
			{id: 'values', title: 'Values', sections: [{
				kind: 'table', id: 'values', search: 'Search values', rows: r.values, empty: 'No two strings are equal.',
				columns: [
					amount('Wasted', 'wastedBytes'), amount('Strings', 'count', count), amount('Size of one', 'sizeBytes'),
					amount('Characters', 'characters', count), {title: 'Kinds', sort: 'text', cell: kinds}, {title: 'Name', sort: 'text', cell: v => v.id},
					r.contents.revealed && {title: 'Starts with', sort: 'text', cls: 'name', cell: v => v.start},
					{title: 'Mostly in', sort: 'text', cls: 'name', cell: v => v.holders.length ? v.holders[0].holder : ''}, remedy,
				],
			}]},
			{id: 'generations', title: 'Generations', sections: [{
				kind: 'table', id: 'generations', rows: s.generations,
				columns: [{title: 'Generation', cell: g => Report.generation(g.generation)}, amount('Strings', 'strings', count), amount('Bytes', 'bytes'),
					amount('Copies', 'copies', count), amount('Wasted', 'wastedBytes')],
			}]},
			{id: 'about', title: 'About', sections: [{
				kind: 'about',
				texts: ['The application was stopped once; each string on the heap was counted, reachable or not. Of equal strings one is to be kept, each ' +
					'other is a copy, and its bytes (the object\u2019s real size) are wasted. A string with several holders belongs to the first one met, ' +
					'so the sums add up.', r.contents.shown],
				rows: [
					['Objects on the heap', count(r.heap.objects)],
					['Stopped for the walk', milliseconds(r.heap.stopMicroseconds)],
					['Strings with copies that no object refers to', `${count(r.unheld.strings)} (${bytes(r.unheld.wastedBytes)} wasted)`],
					['Values left out', r.valuesNotListed.values ? count(r.valuesNotListed.values) : null],
					['Holders left out', r.holdersNotListed.holders ? count(r.holdersNotListed.holders) : null],
					...Report.costRows(r),
				],
			}]},
		]},
	];
});
