'use strict';
/* The sections of an Allocations report. */
Report.show(r => {
	const {make, count, bytes, percent, share} = Report;
	const a = r.allocated, s = r.sampling, tick = s.event === 'AllocationTick', seconds = r.time.durationSeconds || 1;
	const samples = n => Report.plural(n, 'sample');
	const rate = n => bytes(Math.round(n)) + '/s';
	const error = row => row.bytes ? 50 * (row.bytesHigh - row.bytesLow) / row.bytes : 0;
	const estimate = [
		{title: 'Share', sort: 'number', cell: x => ({text: percent(x.percent), sort: x.bytes})},
		{title: 'A second', sort: 'number', cell: x => ({text: bytes(Math.round(x.bytes / seconds)), sort: x.bytes})},
		{title: '\u00b1', sort: 'number', cell: x => ({text: '\u00b1 ' + percent(error(x)), sort: error(x),
			title: `${s.confidencePercent}% confidence: ${bytes(x.bytesLow)} to ${bytes(x.bytesHigh)} in all`})},
		{title: 'Objects a second', sort: 'number', cell: x => ({text: count(Math.round(x.objects / seconds)), sort: x.objects})},
	];
	const badge = site => site.large ? make('span.badge', 'large') : site.pinned ? make('span.badge', 'pinned') : null;
	const each = t => t.objects ? t.bytes / t.objects : 0;
	return [
		{kind: 'facts', items: [
			{key: 'Allocated', value: rate(a.bytesPerSecond), small: bytes(a.bytes), spark: r.timeline.bytes, sparkLabel: 'Bytes over time'},
			{key: 'Objects', value: count(Math.round(a.objectsPerSecond)), small: 'a second'},
			{key: 'Large objects', value: share(a.largeBytes, a.bytes), small: 'of all bytes', note: rate(a.largeBytes / seconds)},
			{key: 'Stopped to collect', value: share(r.collections.totalNanoseconds / 1e9, seconds), small: 'of the time',
				note: Report.plural(r.collections.count, 'collection')},
			{key: 'Application paused', value: Report.pause(r), note: `by the profiler; longest wait of a thread: ${Report.wait(r)}`},
		]},
		{
			kind: 'flame', unit: 'bytes', period: 1, of: 'bytes', share: 'Share', widest: 'Flame graph: the widest frames allocate the most',
			threads: [{title: 'Bytes', sort: 'number', cell: t => ({text: bytes(t.bytes), sort: t.bytes})}],
			about: {
				kind: 'about',
				texts: ['Allocations are sampled by the runtime itself, one about each 100 KB, each with its stack. Bytes and objects are estimates; the \u00b1 is half ' +
					'the width of their 95% confidence interval. The leaf of each stack is the type that is allocated.',
				tick && 'This runtime has the event AllocationTick, whose samples come at a fixed distance: a pattern that repeats may be over- or ' +
					'underestimated by more than the interval says. .NET 10 has random samples.',
				'Frames of the runtime, of the machinery of async methods and of ASP.NET Core\u2019s pipeline are folded into one row where they are two or more ' +
					'below each other; A shows them all. The methods table counts all frames.'].filter(Boolean),
				rows: [
					['Samples', `${count(s.samples)} (${s.event})`],
					s.sampledPercent < 100 && ['Sampled', `${s.sampledPercent.toFixed(0)}% of the time, so that it costs little; what was sampled stands for all`],
					['Dropped', count(s.dropped)],
					['Cut stacks', samples(s.cutStacks)],
					['Without a stack', samples(s.withoutStack)],
					['Stacks that may lack callers', samples(s.incompleteStacks)],
					Report.tailCallRow,
					['Compiled frames without a name', `${count(s.managedFramesUnnamed)} of ${count(s.managedFramesNamed + s.managedFramesUnnamed)}`],
					s.besideAnotherProfiler && ['Another profiler',
						'may hold the process\u2019s main slot; attached for notifications only, which is all that this report needs'],
					...Report.costRows(r),
				],
			},
		},
		{
			kind: 'table', id: 'sites', title: 'Who allocates what', search: 'Search types and methods', rows: r.sites, empty: 'No allocation was sampled.',
			columns: [...estimate, {title: 'Type', sort: 'text', cls: 'name', cell: x => ({text: [x.type, badge(x)], sort: x.type})},
				{title: 'In the application\u2019s method', sort: 'text', cls: 'name', cell: x => ({
					text: x.method ? Report.source.frame({name: x.method, place: x.place}) : '(none)', title: x.module, sort: x.method || ''})}],
		},
		{
			kind: 'table', id: 'types', title: 'Types', search: 'Search types', rows: r.types, empty: 'No allocation was sampled.',
			columns: [...estimate, {title: 'Average size', sort: 'number', cell: t => ({text: bytes(Math.round(each(t))), sort: each(t)})},
				{title: 'Large', sort: 'number', cell: t => ({text: t.largeBytes ? share(t.largeBytes, t.bytes) : '', sort: t.largeBytes / (t.bytes || 1)})},
				{title: 'Type', sort: 'text', cls: 'name', cell: t => t.name}],
		},
	];
});
