'use strict';
/* The sections of an Exceptions report. */
Report.show(r => {
	const {make, count, percent} = Report;
	const t = r.thrown, s = r.sampling, c = r.throwing, seconds = r.time.durationSeconds || 1;
	const few = c.cpuSamples < 50 || c.unwindingSamples < 10; // no share
	const rate = n => n >= 20 ? count(Math.round(n)) : n >= 1 ? n.toFixed(1) : n.toFixed(2);
	const again = {rethrow: 'again, by throw', await: 'again, by await'};
	const where = {sameMethod: 'the same method', caller: 'its caller', task: 'async', outside: 'not the application\u2019s'};
	const share = [
		{title: 'Share', sort: 'number', cell: x => again[x.way] ? {text: '', title: 'of what is new', sort: 0} : {text: percent(x.percent), sort: x.count}},
		{title: 'A second', sort: 'number', cell: x => ({text: rate(x.count / seconds), sort: x.count})},
		{title: 'Count', sort: 'number', cell: x => ({text: (s.exact ? '' : '\u2248 ') + count(x.count), sort: x.count})},
	];
	const thrownIn = {title: 'Thrown in the application\u2019s method', sort: 'text', cls: 'name', cell: x => ({
		text: x.method ? Report.source.frame({name: x.method, place: x.place}) : '(none)', title: x.module, sort: x.method || ''})};
	const message = x => r.sampling.revealed && x.message !== null ? {text: x.message, title: x.shape || ''} : {text: x.shape || ''};
	return [
		{kind: 'facts', items: [
			{key: 'Exceptions', value: rate(t.perSecond), small: 'a second', note: `${s.exact ? '' : 'about '}${count(t.count)} in all`,
				spark: r.timeline.counts, sparkLabel: 'Exceptions over time'},
			{key: 'CPU until caught', value: c.cpuPercent === null ? 'not measured' : percent(c.cpuPercent), small: c.cpuPercent === null ? '' : 'of the process\u2019s',
				note: c.microsecondsEach === null ? '' : `${c.microsecondsEach.toFixed(1)} us each`},
			{key: 'CPU samples in exceptions', value: few ? 'not measured' : percent(100 * c.unwindingSamples / c.cpuSamples),
				small: few ? '' : 'of the process\u2019s', note: few ? '' : 'in the runtime\u2019s handling of them'},
			{key: 'Thrown again', value: count(t.rethrown + t.awaited), small: 'not counted as new',
				note: `by await ${count(t.awaited)}, by throw ${count(t.rethrown)}`},
			{key: 'With an inner exception', value: count(t.withInner), note: `thrown while another was handled: ${count(t.nested)}`},
			{key: 'Application paused', value: Report.pause(r), note: `by the profiler; longest wait of a thread: ${Report.wait(r)}`},
		]},
		{
			kind: 'table', id: 'sites', title: 'What is thrown, and from where', search: 'Search types, methods and messages', rows: r.sites, most: 40,
			empty: 'No exception was thrown.',
			columns: [...share,
				{title: 'Type', sort: 'text', cls: 'name', cell: x => ({text: [x.type, again[x.way] ? make('span.badge', again[x.way]) : null], sort: x.type})},
				thrownIn,
				{title: 'Caught in', sort: 'text', cls: 'name', cell: x => ({
					text: [x.catcher || '(not seen)', where[x.caught] ? make('span.badge', where[x.caught]) : null], sort: x.catcher || ''})},
				{title: s.revealed ? 'Message' : 'Message, masked', sort: 'text', cell: message}],
		},
		{
			kind: 'table', id: 'types', title: 'Types', search: 'Search types', rows: r.types, most: 20, empty: 'No exception was thrown.',
			columns: [...share, {title: 'Type', sort: 'text', cls: 'name', cell: x => x.type}, thrownIn],
		},
		{
			kind: 'flame', unit: 'exceptions', period: 1, of: 'exceptions', share: 'Share', leaf: 'Thrown type', widest: 'Flame graph: the widest frames throw the most',
			threads: [{title: 'Exceptions', sort: 'number', cell: x => ({text: count(x.count), sort: x.count})}],
			about: {
				kind: 'about',
				texts: ['Each exception is told by the runtime where it is thrown, with its stack. The leaf of each stack is the type that is thrown; the ' +
					'runtime\u2019s own machinery of throwing is left out. What is thrown again by throw or by an await is not counted as new; ' +
					'throw with the name of a caught exception is.',
				'Of messages only words of a fixed list are shown; all else is masked: # is a number or an identifier, * anything else.'],
				rows: [
					['Counted', Report.plural(s.counted, 'exception')],
					!s.exact && ['Watched', `${s.sampledPercent.toFixed(0)}% of the time, so that it costs little; what was counted then stands for all`],
					['Dropped', count(s.dropped)],
					s.withoutShape > 0 && ['Without a message', `${count(s.withoutShape)}: there were too many different ones`],
					['Cut stacks', count(s.cutStacks)],
					['Without a stack', count(s.withoutStack)],
					['Stacks that may lack callers', count(s.incompleteStacks)],
					Report.tailCallRow,
					['Compiled frames without a name', `${count(s.managedFramesUnnamed)} of ${count(s.managedFramesNamed + s.managedFramesUnnamed)}`],
					s.besideAnotherProfiler && ['Another profiler',
						'may hold the process\u2019s main slot; attached for notifications only, which is all that this report needs'],
					...Report.costRows(r),
				],
			},
		},
	];
});
