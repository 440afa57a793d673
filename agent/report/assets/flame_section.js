'use strict';
/* A profile of stacks: flame graph, methods, callers and callees, threads, from report.json's own methods, tree, leaves and threads.
 *
 * {kind: 'flame', unit: 'ns', 'bytes' or a plural such as 'exceptions', period: units that a weight of 1 stands for, of: 'CPU time', what shares are of,
 *  widest: what the widest frames do, threads: columns of the table of threads beside share, name and id, about: the section of that tab,
 *  leaf: what a leaf of the layer 'allocation' is, where it is none,
 *  parts: ['Endpoint', 'Endpoints'] where `threads` are no threads, report: what stands for report.json where its parts are no threads,
 *  colour: a method's class where it is not that of its layer, paint: (tree, node, methods) => a frame's class or ''
 *  (its method's), legend: [{cls, title}] of these,
 *  timeline: {title, values, seconds: of one value}, where a part can be chosen (report.json's leavesOverTime)} */
Report.kinds.flame = (section, host, report) => {
	const r = section.report || report, [PART, PARTS] = section.parts || ['Thread', 'Threads'];
	const {make, button, bar, stacks} = Report, FOLDED = stacks.FOLDED;
	const LAYERS = {application: 'Application', library: '.NET libraries', runtime: 'Runtime', native: 'Native libraries', kernel: 'Kernel', unknown: 'No name',
		allocation: section.leaf || 'Allocation', wait: 'Kind of wait'};
	const layers = Object.keys(LAYERS), methods = r.methods, bytes = section.unit === 'bytes';
	const styles = methods.map(m => section.colour?.(m) || 'l' + layers.indexOf(m.layer));
	const lower = methods.map(m => (m.name + ' ' + m.module).toLowerCase());
	const percent = (part, all) => {
		const p = all ? 100 * part / all : 0;
		return p.toFixed(p >= 0.095 || p === 0 ? 1 : 2) + '%';
	};
	const amount = weight => {
		const n = weight * section.period, s = n / 1e9;
		if (bytes) return Report.bytes(Math.round(n));
		if (section.unit !== 'ns') return `${Report.count(Math.round(n))} ${section.unit}`;
		return s >= 10 ? s.toFixed(1) + ' s' : s >= 1 ? s.toFixed(2) + ' s' : Math.round(s * 1000) + ' ms';
	};
	const lineShare = samples => percent(samples, whole);
	const marksOf = m => methods[m].marks.map(mark => mark === 'noSymbol' ? 'no symbols' : mark);
	const threadName = i => r.threads[i].name || '(no name)';
	const weightOf = thread => thread.bytes ?? thread.samples ?? thread.count;
	const whole = r.tree.total[0];

	/* what is chosen, and the trees --------------------------------------------------------------------------------- */

	const base = stacks.weigh(stacks.makeTree(r.tree.parent, r.tree.method), r.tree.self);
	const folded = stacks.foldTree(base, m => methods[m].layer, (m, above, below) => stacks.isPlumbing(methods[m], above, below));
	const seen = {thread: -1, from: -1, to: -1, all: Report.state.get('frames') === 'all', zoom: 0, hits: null, method: -1};
	let counted = null, later = 0; /* methods in what is shown; they are counted when the graph is drawn */
	const tree = () => seen.all ? base : folded;
	const here = () => seen.all ? seen.zoom : folded.at[seen.zoom]; /* the node of tree() in which the graph is zoomed */
	const diff = Report.flameDiff({r, methods, base, tree, isAll: () => seen.all, percent});

	function count() {
		const n = base.parent.length, {leaves, leavesOverTime: times} = r;
		const self = seen.from >= 0 ? stacks.endings(n, times, i => times.bucket[i] >= seen.from && times.bucket[i] <= seen.to)
			: seen.thread >= 0 ? stacks.endings(n, leaves, i => leaves.thread[i] === seen.thread) : r.tree.self;
		stacks.weigh(base, self);
		stacks.weigh(folded, self, folded.at);
	}
	function countMethods() {
		const z = here(), end = tree().end[z];
		const inside = seen.all ? i => i >= z && i < end : i => folded.at[i] >= z && folded.at[i] < end;
		counted = stacks.countMethods(base, methods.length, inside, m => methods[m].layer === 'allocation');
	}

	/* words ------------------------------------------------------------------------------------------------------- */

	function foldName(fold, brief) {
		const any = is => [...fold.methods].some(m => is(methods[m]));
		return `${fold.frames} frames` + (brief ? '' : any(stacks.isWeb) ? ' of ASP.NET Core and the runtime' :
			any(m => m.layer === 'library') ? ' of .NET and the runtime'
			: ' of native code');
	}
	function nameOf(t, n, brief) {
		const m = t.method[n];
		if (m === FOLDED) return foldName(t.folds.get(n), brief);
		return m < 0 ? 'all' : methods[m].name;
	}
	/* "Shop.Cart.Total(int)" in little room: "Cart.Total". */
	function briefName(name, m) {
		if (m >= 0 && !['application', 'library'].includes(methods[m].layer)) return name;
		const end = name.search(/[(<]/), head = end > 0 ? name.slice(0, end) : name, parts = head.split('.');
		return parts.length > 2 ? parts.slice(-2).join('.') : name;
	}
	const all = () => seen.from >= 0 ? 'chosen time' : seen.thread < 0 ? 'all ' + PARTS.toLowerCase() : threadName(seen.thread);

	function describe(place, t, n, ownWords) {
		const m = t.method[n], known = m >= 0;
		const name = make('span.name', known ? methods[m].name : m === FOLDED ? nameOf(t, n) : all()[0].toUpperCase() + all().slice(1));
		if (known) name.append(...marksOf(m).map(mark => make('span.badge', mark)));
		const figure = (value, text) => make('span', make('b', value), ' ' + text), parts = [name];
		parts.push(figure(percent(t.total[n], base.total[0]), 'total, ' + amount(t.total[n])));
		if (n && (!bytes || t.self[n])) parts.push(figure(percent(t.self[n], base.total[0]), ownWords || 'in itself here'));
		parts.push(...diff.words(t, n));
		if (known && methods[m].source) parts.push(Report.source.hottest(methods[m].source, lineShare));
		if (known && methods[m].module) parts.push(make('span', methods[m].module));
		if (known) parts.push(make('span', LAYERS[methods[m].layer]));
		if (m === FOLDED) parts.push(make('span', 'C or a double-click shows them'));
		place.replaceChildren(...parts);
	}
	const views = place => ({
		name: (t, n) => t.method[n] === -1 ? all() : nameOf(t, n),
		brief: (t, n) => t.method[n] === -1 ? all() : briefName(nameOf(t, n, true), t.method[n]),
		mark: (t, n) => t.method[n] >= 0 ? methods[t.method[n]].marks.find(k => k === 'async' || k === 'iterator') || '' : '',
		label: (t, n) => nameOf(t, n) + (t.method[n] >= 0 ? marksOf(t.method[n]).map(k => ', ' + k).join('') : '') + ', ' + percent(t.total[n], base.total[0]) +
			(t.self[n] && n ? ', ' + percent(t.self[n], base.total[0]) + ' in itself' : ''),
		style: (t, n) => n === 0 && t.method[n] === -1 ? 'all' : diff.style(t, n) || (section.paint && section.paint(t, n, methods))
			|| (t.method[n] === FOLDED ? 'folded' : styles[t.method[n]].replace('.', ' ')),
		hit: (t, n) => Boolean(seen.hits && t.method[n] >= 0 && seen.hits[t.method[n]]),
		searching: () => seen.hits !== null,
		choose: (t, n) => { if (t.method[n] >= 0) openCallers(t.method[n]); else if (t.method[n] === FOLDED) unfold(n); },
		describe: (t, n) => describe(place, t, n),
		zoomed: updateReset,
	});

	/* The runtime's or libc's library without symbols: all stacks stand on it. */
	const ground = methods.map(m => m.marks.includes('noSymbol') &&
		(m.layer === 'runtime' || m.layer === 'native' && /^(libc[.-]|libpthread|ld-(linux|musl))/.test(m.module)));

	/* As report.json's topMethods are in order, the other way round: until somebody sorts them. */
	const byRank = (counts, key, a, b) => ground[b] - ground[a] || byCount(counts, key, a, b);
	function byCount(counts, key, a, b) {
		return counts[key][a] - counts[key][b] || counts.total[a] - counts.total[b] || (methods[a].name < methods[b].name ? 1 : -1);
	}

	/* tables of methods ---------------------------------------------------------------------------------------------- */

	/* A table of methods that is sorted by its headings. `few`: that beside the graph. */
	function methodsTable(id, few, choose) {
		const table = make('table'), head = table.createTHead(), body = table.createTBody(), more = button('', () => { shown += 400; draw(); });
		const columns = [['self', 'In itself', 'n'], few ? null : ['', '', 'bar'], ['total', 'Total', 'n'], ['name', 'Method', ''],
			few ? null : ['module', 'Module', 'mod']].filter(Boolean);
		let key = 'self', rising = false, chosen = false, shown = few ? 25 : 100;
		table.id = id;
		more.className = 'quiet';
		function headings() {
			head.replaceChildren(make('tr', columns.map(([by, title, cls]) => {
				const th = make('th', by ? button(title, () => {
					rising = by === key ? !rising : by === 'name' || by === 'module';
					key = by;
					chosen = true;
					draw();
					head.querySelector('th[aria-sort=ascending] button,th[aria-sort=descending] button').focus();
				}) : '');
				th.className = cls;
				th.scope = 'col';
				if (by) th.setAttribute('aria-sort', by === key ? rising ? 'ascending' : 'descending' : 'none');
				return th;
			})));
		}
		function row(m) {
			const dot = make('span.dot.' + styles[m]), name = make('td.name', dot, ' ', button(few ? briefName(methods[m].name, m) : methods[m].name, () => choose(m)),
				few ? [] : marksOf(m).map(mark => make('span.badge', mark)),
				few || !methods[m].source ? [] : Report.source.strip(methods[m].source, lineShare));
			dot.title = LAYERS[methods[m].layer];
			name.title = methods[m].name;
			return make('tr', make('td.n', percent(counted.self[m], base.total[0])), few ? null : make('td.bar', bar(counted.self[m] / (base.total[0] || 1))),
				make('td.n', percent(counted.total[m], base.total[0])), name, few ? null : make('td.mod', methods[m].module));
		}
		function draw() {
			const list = [];
			for (let m = 0; m < methods.length; m++) if (counted.total[m] > 0 && (!seen.hits || seen.hits[m])) list.push(m);
			const text = m => methods[m][key];
			const by = key === 'self' || key === 'total' ? (a, b) => (chosen ? byCount : byRank)(counted, key, a, b)
				: (a, b) => text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : counted.self[b] - counted.self[a];
			list.sort((a, b) => rising ? by(a, b) : by(b, a));
			headings();
			body.replaceChildren(...list.slice(0, shown).map(row));
			more.hidden = list.length <= shown;
			more.textContent = `Show more (${Report.count(Math.max(0, list.length - shown))} left)`;
		}
		return {nodes: [make('div.scroll', table), more], draw};
	}
	const besideTable = methodsTable('methods-here', true, showMethod), allTable = methodsTable('methods', false, openCallers);

	/* the tabs ---------------------------------------------------------------------------------------------------------- */

	const box = (id, cls) => Object.assign(make('div.' + cls), {id});
	const range = section.timeline && r.leavesOverTime ? Report.timeRange({...section.timeline, id: 'range', chosen: chooseTime}) : null;
	const detail = box('detail', 'detail'), graph = box('flame', 'flame'), focus = box('focus', 'detail'), up = box('callers', 'flame'),
		down = box('callees', 'flame');
	let flame = null, callersFlame = null, calleesFlame = null;
	detail.setAttribute('aria-live', 'polite');

	function drawGraph(place) {
		const legend = make('span.legend', section.legend ? section.legend.map(x => make('span', make('span.dot.' + x.cls), x.title))
			: layers.filter(layer => methods.some(m => m.layer === layer)).map(layer => make('span', make('span.dot.l' + layers.indexOf(layer)), LAYERS[layer])));
		const keys = make('span.keys', [['\u2190 \u2191 \u2192 \u2193', 'move'], ['Enter', 'zoom'], ['Esc', 'out'], ['A', 'all frames'],
			['C', 'callers and callees'], ['/', 'search']]
			.map(([key, text]) => make('span', key.split(' ').map(k => make('kbd', k)), ' ' + text)));
		const cut = r.tree.parent.length >= 524288 ? make('p.hint.left-out',
			`The report holds ${Report.count(524288)} places of the graph: stacks that would need more end above.`) : null;
		const noTime = section.timeline && r.leavesOverTime === null ? make('p.hint.left-out',
			'This session has too many samples for choosing a part of its time.') : null;
		place.append(make('div.beside', make('div', range?.node, noTime, detail, graph, cut, make('p.hint', legend, keys), diff.list),
			make('aside.methods-here', make('h2', 'Methods in view'), besideTable.nodes)));
		flame = new Report.FlameGraph(graph, section.widest, false, {...views(detail), zoomed: n => setZoom(seen.all ? n : folded.origin[n])});
		flame.setTree(tree(), here());
		countMethods();
		besideTable.draw();
		place.parentNode.addEventListener('shown', () => flame.fit());
	}
	function drawCallers(place) {
		place.append(focus, make('h3', 'Callers'), up, make('h3', 'Callees'), down,
			make('p.hint', make('span', 'Another method: choose it under Methods, or press ', make('kbd', 'C'), ' on a frame or double-click it.')));
		const note = {...views(focus), describe: (t, n) => { if (n > 0) describe(focus, t, n, 'in itself below'); else aboutMethod(); }};
		callersFlame = new Report.FlameGraph(up, 'Callers of the method, which is at the bottom', true, note);
		calleesFlame = new Report.FlameGraph(down, 'Callees of the method, which is at the top', false, note);
		refreshCallers();
		place.parentNode.addEventListener('shown', () => { callersFlame.fit(); calleesFlame.fit(); });
	}
	function ofThread() {
		const counts = stacks.countMethods(base, methods.length, () => true, m => methods[m].layer === 'allocation');
		if (seen.method < 0) seen.method = counts.self.reduce((most, v, m) => byRank(counts, 'self', m, most) > 0 ? m : most, 0);
		return counts;
	}
	let methodCounts = null;
	function aboutMethod() {
		const m = seen.method;
		describe(focus, {method: [-1, m], total: [0, methodCounts.total[m]], self: [0, methodCounts.self[m]]}, 1, 'in itself');
	}
	function refreshCallers() {
		if (!callersFlame || !methods.length) return;
		methodCounts = ofThread();
		callersFlame.setTree(stacks.callers(base, seen.method));
		calleesFlame.setTree(stacks.callees(base, seen.method));
		aboutMethod();
		updateReset();
	}
	function openCallers(m) {
		seen.method = m;
		Report.state.set('method', String(m));
		Report.openTab('callers', true);
		refreshCallers();
	}
	const threadRows = {
		kind: 'table', id: 'threads', rows: r.threads.map((thread, i) => ({thread, i})), columns: [
			{title: section.share, sort: 'number', cell: x => ({text: percent(weightOf(x.thread), whole), sort: weightOf(x.thread)})},
			{title: '', cls: 'bar', cell: x => ({text: bar(weightOf(x.thread) / (whole || 1))})},
			...section.threads.map(column => ({...column, cell: x => column.cell(x.thread)})),
			{title: PART, sort: 'text', cls: 'name', cell: x => ({text: weightOf(x.thread)
				? button(threadName(x.i), () => { chooseThread(x.i); Report.openTab('flame', true); },
				'Flame graph of ' + threadName(x.i)) : threadName(x.i), sort: threadName(x.i)})},
			!section.parts && {title: 'Id', sort: 'number', cls: 'n mod', cell: x => ({text: String(x.thread.tid), sort: x.thread.tid})},
		],
	};
	const own = draw => ({kind: 'own', draw});
	const tabs = {kind: 'tabs', tabs: [
		{id: 'flame', title: 'Flame graph', sections: [own(drawGraph)]},
		{id: 'methods', title: 'Methods', sections: [own(place => { place.append(...allTable.nodes); countMethods(); allTable.draw(); })]},
		{id: 'callers', title: 'Callers and callees', sections: [own(drawCallers)]},
		{id: 'threads', title: PARTS, sections: [threadRows]},
		{id: 'about', title: 'About', sections: [section.about]},
	]};

	/* controls --------------------------------------------------------------------------------------------------------- */

	const search = Object.assign(make('input'), {id: 'search', type: 'search', placeholder: 'Search methods  /', autocomplete: 'off', spellcheck: false,
		maxLength: 520});
	const thread = Object.assign(make('select'), {id: 'thread'}), matched = Object.assign(make('output'), {id: 'matched'});
	const reset = button('Reset zoom', resetZoom), every = button('Show all frames', () => showAll(!seen.all));
	reset.id = 'reset';
	every.id = 'frames';
	reset.className = every.className = 'quiet';
	matched.setAttribute('aria-live', 'polite');
	const option = (value, text) => Object.assign(make('option', text), {value: String(value)});
	thread.append(option(-1, 'All ' + PARTS.toLowerCase()), ...r.threads.map((t, i) => weightOf(t) > 0 ?
		option(i, `${threadName(i)} ${t.tid ?? ''}  ${percent(weightOf(t), whole)}`) : null).filter(Boolean));
	const tools = Object.assign(make('div.tools', make('label.field', make('span.sr', 'Search methods and modules'), search),
		make('label.field', make('span.sr', PART), thread),
		matched, make('span.spring'), every, section.parts ? null : diff.control(() => refresh()), reset), {id: 'tools'});

	function updateReset() {
		reset.disabled = !(seen.zoom || callersFlame?.zoomed || calleesFlame?.zoomed);
	}
	function updateMatched() {
		if (!seen.hits) {
			matched.textContent = seen.thread < 0 && seen.from < 0 ? '' : percent(base.total[0], whole) + ' of all ' + section.of;
			return;
		}
		const sum = stacks.outermost(base, m => seen.hits[m]).reduce((s, i) => s + base.total[i], 0), n = seen.hits.reduce((s, h) => s + h, 0);
		matched.textContent = n === 0 ? 'Nothing matches' : `${percent(sum, base.total[0])} matches, ${n} ${n === 1 ? 'method' : 'methods'}`;
	}
	function setZoom(node) {
		seen.zoom = node;
		Report.state.set('zoom', node ? String(node) : '');
		updateReset();
		clearTimeout(later);
		later = setTimeout(() => { /* first the graph */
			countMethods();
			besideTable.draw();
		});
	}
	function resetZoom() {
		for (const f of [callersFlame, calleesFlame]) if (f?.zoomed) f.zoom(0, true);
		if (flame && seen.zoom) flame.zoom(0, true);
		seen.zoom = 0;
		updateReset();
	}
	function setSearch(text) {
		const q = text.trim().toLowerCase();
		seen.hits = q ? Uint8Array.from(lower, n => n.includes(q) ? 1 : 0) : null;
		Report.state.set('q', text.trim());
	}
	function refresh() {
		diff.match();
		if (!flame) countMethods();
		if (flame) {
			flame.setTree(tree(), here());
			if (flame.zoomed !== here()) setZoom(0);
			clearTimeout(later);
			countMethods();
			besideTable.draw();
		}
		allTable.draw();
		refreshCallers();
		updateMatched();
		updateReset();
	}
	function setAll(value) {
		seen.all = value;
		Report.state.set('frames', value ? 'all' : '');
		every.textContent = value ? 'Fold the runtime' : 'Show all frames';
		every.setAttribute('aria-pressed', String(value));
		every.title = 'A';
	}
	function showAll(value) {
		setAll(value);
		refresh();
	}
	function chooseThread(i) {
		seen.thread = i;
		seen.from = seen.to = -1;
		range?.set(-1, -1);
		Report.state.set('time', '');
		thread.value = String(i);
		Report.state.set('thread', i < 0 ? '' : String(i));
		count();
		refresh();
	}
	function chooseTime(from, to) {
		seen.thread = -1;
		thread.value = '-1';
		Report.state.set('thread', '');
		Report.state.set('time', from < 0 ? '' : `${from}-${to}`);
		[seen.from, seen.to] = [from, to];
		count();
		refresh();
	}
	function unfold(n) {
		seen.zoom = folded.origin[n];
		showAll(true);
		setZoom(seen.zoom);
		flame.focusOn(here());
	}
	/* The widest frame of a method, with all frames where it is folded. */
	function showMethod(m) {
		const widest = () => {
			const t = tree(), found = t.method.reduce((most, x, i) => x === m && (most < 0 || t.total[i] > t.total[most]) ? i : most, -1);
			return found < 0 ? found : seen.all ? found : folded.origin[found];
		};
		if (widest() < 0) setAll(true);
		seen.zoom = Math.max(0, widest());
		search.value = methods[m].name;
		setSearch(methods[m].name);
		Report.openTab('flame', false);
		refresh();
		setZoom(seen.zoom);
		graph.scrollIntoView({block: 'nearest'});
		flame.focusOn(here());
	}

	/* start -------------------------------------------------------------------------------------------------------------- */

	function restore() {
		const number = (name, end) => { const n = parseInt(Report.state.get(name), 10); return n >= 0 && n < end ? n : -1; };
		seen.thread = number('thread', r.threads.length);
		seen.zoom = Math.max(0, number('zoom', base.parent.length));
		seen.method = number('method', methods.length);
		const [, from, to] = /^(\d+)-(\d+)$/.exec(range ? Report.state.get('time') : '') || [];
		if (from && seen.thread < 0 && +from <= +to && +to < section.timeline.values.length) {
			[seen.from, seen.to] = [+from, +to];
			range.set(seen.from, seen.to);
		}
		thread.value = String(seen.thread);
		search.value = Report.state.get('q').slice(0, 520);
		setSearch(search.value);
		setAll(seen.all);
		count();
		countMethods();
	}
	restore();
	Report.kinds.tabs(tabs, host, r);
	host.querySelector('.tabs').after(tools);
	const panels = host.querySelectorAll('[role=tabpanel]');
	const showTools = () => { tools.hidden = [...panels].some(v => !v.hidden && (v.id === 'view-threads' || v.id === 'view-about')); };
	for (const view of panels) view.addEventListener('shown', showTools);
	showTools();
	updateMatched();
	updateReset();
	search.addEventListener('input', () => { setSearch(search.value); refresh(); });
	thread.addEventListener('change', () => chooseThread(+thread.value));
	document.addEventListener('keydown', e => {
		if (e.key.toLowerCase() !== 'a' || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT)$/.test(e.target.tagName)) return;
		e.preventDefault();
		showAll(!seen.all);
	});
	let lastWidth = 0;
	new ResizeObserver(() => {
		if (document.body.clientWidth === lastWidth) return;
		lastWidth = document.body.clientWidth;
		for (const f of [flame, callersFlame, calleesFlame]) if (f?.host.offsetParent) f.fit();
	}).observe(document.body);
	Report.linkMethods(methods, showMethod);
};
