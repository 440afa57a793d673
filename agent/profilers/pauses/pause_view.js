'use strict';
/* The sections of a RuntimePauses report. */
Report.show(r => {
	const {make, count, duration, percent, bar, breakable} = Report;
	const p = r.pauses, events = r.events, details = r.details;
	const LATE = 1000; /* microseconds: a suspension that takes longer is somebody's */
	const CLASSES = {collection: 't-blocking', backgroundCollection: 't-background'};
	const classOf = kind => CLASSES[kind.reason] || 't-other';

	const number = (title, by, show = count) => ({title, sort: 'number', by, cell: row => show(by(row))});
	const sums = (pauses = s => s.count) => [number('Pauses', pauses), number('Time', s => s.totalMicroseconds, duration),
		number('Longest', s => s.longestMicroseconds, duration)];
	const titled = (title, head, id, rows) => ({kind: 'table', id, title, rows,
		columns: [...sums(), {title: head, sort: 'text', cls: 'name', cell: s => s.title}]});
	/* The method, which opens to its stack. */
	const method = title => ({title, sort: 'text', cls: 'name', cell: s => s.method === null ? 'not known' : {
		text: make('details', make('summary', breakable(s.method)), Report.source.stack(s.stack.map(name => ({name})), f => breakable(f.name))), sort: s.method}});
	const said = (title, text) => ({kind: 'text', title, texts: [text]});

	const lengths = events.startMicroseconds.map((_, i) => events.suspendingMicroseconds[i] + events.stoppedMicroseconds[i]);
	const timeline = lengths.length > 0 && {
		kind: 'timeline', title: 'Over time', label: 'Pauses over time', end: r.time.durationSeconds * 1e6,
		start: events.startMicroseconds, length: lengths, red: events.suspendingMicroseconds, cls: i => classOf(r.kinds[events.kind[i]]),
		say: i => `${r.kinds[events.kind[i]].title} at ${(events.startMicroseconds[i] / 1e6).toFixed(3)} s: ${duration(lengths[i])}, of it ` +
			`${duration(events.suspendingMicroseconds[i])} until all threads had stopped`,
		note: events.omitted ? `The ${count(lengths.length)} longest pauses` : '',
		legend: [{cls: 't-blocking', title: 'blocking collection'}, {cls: 't-background', title: 'background collection'}, {cls: 't-other', title: 'other'},
			{cls: 't-red', title: 'until all threads had stopped'}],
	};

	const generations = {
		kind: 'table', id: 'generations', title: 'Collections by generation', rows: r.generations,
		columns: [
			number('Collections', g => g.collections), number('Induced', g => g.induced), ...sums(g => g.pauses),
			{title: 'Generation', sort: 'text', cls: 'name', cell: g => `gen ${g.generation}, ${g.background ? 'background' : 'blocking'}`},
		],
	};
	const why = p.count ? [
		titled('Reasons', 'The runtime stopped its threads for', 'reasons', r.reasons),
		r.causes.length > 0 && generations,
		details.lookedAt < details.collections && {kind: 'text', texts: [`Of ${count(details.collections)} pauses for collections ${count(details.lookedAt)} ` +
			(details.lookedAt === 1 ? 'was' : 'were') + ' looked at for what made the runtime collect, and for who asked: ' +
			'the figures of those below are estimates for all.']},
		details.causesKnown && r.causes.length > 0 && titled('What made the runtime collect', 'Cause', 'causes', r.causes),
	] : [{kind: 'text', texts: ['The runtime made no pause in this session.']}];

	const inducers = r.inducers.length ? {kind: 'table', id: 'inducers', title: 'Induced collections', rows: r.inducers,
		columns: [...sums(), method('Method (its stack)')]} :
		said('Induced collections', r.kinds.some(k => k.induced) ? 'Collections were induced, but no stack is available.' : 'None were induced.');
	const late = r.lateThreads.length ? {kind: 'table', id: 'late', title: 'Who stopped late', rows: r.lateThreads,
		columns: [...sums(), {title: 'Thread', sort: 'text', cell: t => t.thread ?? `thread ${t.tid}`}, method('Where it was (its stack)')]} :
		said('Who stopped late', p.suspending.maxMicroseconds >= LATE ? 'Some suspensions took longer than a millisecond, but not for one thread.' :
			'No suspension took longer than a millisecond.');

	const h = r.histogram, most = Math.max(1, ...h.pauses, ...h.suspending);
	const steps = h.fromMicroseconds.map((from, i) => ({from, pauses: h.pauses[i], suspending: h.suspending[i]})).filter(s => s.pauses || s.suspending);
	/* A figure and its bar. */
	const barred = (title, by) => [{title, cls: 'n', cell: s => count(by(s))},
		{title: make('span.sr', title + ' as a bar'), cls: 'wide', cell: s => bar(by(s) / most)}];

	return [
		{kind: 'facts', items: [
			{key: 'Time paused', value: percent(p.sharePercent), note: 'of the session', warn: p.sharePercent >= 5},
			{key: 'Pauses', value: count(p.count), note: (p.perMinute < 1000 ? p.perMinute.toFixed(1) : count(Math.round(p.perMinute))) + ' a minute'},
			{key: 'Longest', value: duration(p.length.maxMicroseconds), warn: p.length.maxMicroseconds >= 1e5},
			{key: '99% at most', value: duration(p.length.p99Microseconds)},
			{key: 'Until all had stopped', value: duration(p.suspending.maxMicroseconds), note: 'at most', warn: p.suspending.maxMicroseconds >= 1e4},
			{key: 'Application paused', value: Report.pause(r), note: `by the profiler; longest wait of a thread: ${Report.wait(r)}`},
		]},
		timeline,
		{kind: 'tabs', tabs: [
			{id: 'why', title: 'Why', sections: why},
			{id: 'who', title: 'Who', sections: [inducers, late]},
			{id: 'slowest', title: 'Slowest', sections: [{
				kind: 'table', id: 'slowest', search: 'Search the pauses', rows: r.slowest, empty: 'No pauses.',
				columns: [
					number('After', s => s.startSeconds, n => n.toFixed(3) + ' s'), number('Length', s => s.lengthMicroseconds, duration),
					number('Until all had stopped', s => s.suspendingMicroseconds, duration), number('Stopped', s => s.stoppedMicroseconds, duration),
					{title: 'For', sort: 'text', cell: s => r.kinds[s.kind].title},
				],
			}]},
			{id: 'length', title: 'Lengths', sections: [{
				kind: 'table', id: 'lengths', title: 'Pauses by length', rows: steps, empty: 'No pauses.',
				columns: [{title: 'Length', cls: 'n', cell: s => 'from ' + Report.roundDuration(s.from)}, ...barred('Pauses', s => s.pauses),
					...barred('Until all had stopped', s => s.suspending)],
			}]},
			{id: 'about', title: 'About', sections: [{
				kind: 'about',
				texts: ['A pause is the time from the runtime\u2019s beginning to suspend its managed threads until it lets them go on. It has two parts: until ' +
					'every thread has come to a halt, and what the runtime does then. The runtime itself tells of each one.', ...r.limits],
				rows: [
					['Pauses', count(p.count)],
					['Not kept', count(p.dropped)],
					['Given up by the runtime', count(p.abandoned)],
					...details.stacks ? [['Stacks that may lack callers', `${count(details.incompleteStacks)} of ${count(details.stacks)}`], Report.tailCallRow] : [],
					details.besideAnotherProfiler && ['Another profiler', 'may hold the process\u2019s main slot: this one needs notifications only'],
					...Report.costRows(r),
				],
			}]},
		]},
	];
});
