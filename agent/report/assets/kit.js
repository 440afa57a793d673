'use strict';
/* The page of a report: report.json, which the page holds, shown as sections. A profiler's view says which:
 *
 *   Report.show(r => [                              r: report.json
 *     {kind: 'facts', items: [{key: 'Strings', value: Report.count(r.strings.count), note: '34% of the heap', warn: false}]},
 *     {kind: 'tabs', label: 'Views', tabs: [
 *       {id: 'holders', title: 'Retained by', sections: [{kind: 'table', id: 'holders', ...}]},
 *     ]},
 *   ]);
 *
 * Kinds of section are functions in Report.kinds: (section, host, r) => void, which fill `host`, an element that is in the document. This file has
 * facts, split, tabs, table, about, text and columns; flame_section.js, tree.js and timeline.js have one each. What is shown is text and nodes, never
 * markup: names come from the profiled process. */
const Report = (() => {
	const $ = id => document.getElementById(id);

	/* elements ------------------------------------------------------------------------------------------------- */

	/* make('td.n', 'text', node, ...): strings become text; null and undefined are left out. */
	function make(what, ...children) {
		const [tag, ...classes] = what.split('.');
		const e = document.createElement(tag || 'div');
		if (classes.length) e.className = classes.join(' ');
		e.append(...children.flat().filter(c => c !== null && c !== undefined));
		return e;
	}
	function svg(tag, attributes = {}, ...children) {
		const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
		for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
		e.append(...children);
		return e;
	}
	/* A name as nodes that break where its parts end, rather than anywhere: "Shop.", "Cache.", "_items". */
	const breakable = name => name.split(/(?<=[\w>\])][.,<])(?=[\w(])/).flatMap((part, i) => i ? [make('wbr'), part] : [part]);
	function button(text, act, label) {
		const b = make('button', text);
		b.type = 'button';
		if (label) b.setAttribute('aria-label', label);
		b.addEventListener('click', act);
		return b;
	}

	/* figures, as the texts of the report have them ----------------------------------------------------------- */

	function bytes(n) {
		const units = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];
		let unit = 0, value = n;
		for (; unit + 1 < units.length && value >= (unit ? 999.5 : 1000); unit++) value /= 1000;
		if (!unit) return n + (n === 1 ? ' byte' : ' bytes');
		return (value < 9.95 ? value.toFixed(1) : value.toFixed(0)) + ' ' + units[unit];
	}
	const count = n => n.toLocaleString('en-US');
	/* "1 thread waits", "2,048 threads wait" */
	const plural = (n, one, many = one + 's') => `${count(n)} ${n === 1 ? one : many}`;
	const percent = p => (p >= 9.95 ? p.toFixed(0) : p >= 0.095 || p <= 0 ? p.toFixed(1) : p.toFixed(2)) + '%';
	const share = (part, all) => percent(all ? Math.min(100, 100 * part / all) : 0);
	/* "+ 3.4 MB", "\u2212 2": a change, with `show` for its size. */
	const change = (n, show = bytes) => (n > 0 ? '+ ' : n < 0 ? '\u2212 ' : '') + show(Math.abs(n));
	const milliseconds = us => us >= 1000 || us === 0 ? (us / 1000).toFixed(1) + ' ms' : us + ' us';

	/* "310 us", "1.24 ms", "84.0 ms", "1.24 s" */
	function duration(us) {
		if (us < 999.5) return us.toFixed(0) + ' us';
		if (us < 999500) return (us / 1000).toFixed(us < 9995 ? 2 : us < 99950 ? 1 : 0) + ' ms';
		return (us / 1e6).toFixed(us < 9995000 ? 2 : 1) + ' s';
	}

	/* The same of round values: "10 us", "1 ms", "50 s" */
	const roundDuration = us => us < 1000 ? us + ' us' : us < 1e6 ? us / 1000 + ' ms' : us / 1e6 + ' s';

	const generation = name => ({loh: 'LOH', poh: 'POH'}[name] || name);

	/* A bar of a share, 0 to 1. */
	function bar(part) {
		const width = p => (100 * Math.min(1, Math.max(0, p || 0))).toFixed(2) + '%';
		return svg('svg', {'aria-hidden': 'true'}, svg('rect', {class: 'track', width: '100%', height: 8, rx: 2}),
			svg('rect', {class: 'level', width: width(part), height: 8, rx: 2}));
	}
	/* Small columns of values side by side, at one scale. */
	function spark(values, label) {
		const most = Math.max(1e-9, ...values), e = svg('svg', {viewBox: `0 0 ${values.length * 4} 26`, preserveAspectRatio: 'none', role: 'img',
			'aria-label': label});
		values.forEach((v, i) => {
			if (v > 0) e.append(svg('rect', {class: 'spark', x: i * 4, y: (26 - 26 * v / most).toFixed(1), width: 3.4, height: (26 * v / most).toFixed(1)}));
		});
		return e;
	}

	/* sections --------------------------------------------------------------------------------------------------- */

	const kinds = {};

	/* items: {key, value (text or nodes), small: beside the value, note: below, warn, level: 0 to 1 and hot, spark: values and sparkLabel} */
	kinds.facts = (section, host) => {
		host.className = 'facts';
		host.setAttribute('aria-label', section.label || 'Key figures');
		for (const item of section.items.filter(Boolean)) {
			const fact = make('div.fact', make('div.k', item.key), make('div.v', item.value, item.small ? make('small', ' ' + item.small) : null));
			if (item.warn) fact.classList.add('warn');
			if (item.level !== undefined)
				fact.append(svg('svg', {viewBox: '0 0 100 26', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
					svg('rect', {class: 'track', y: 10, width: 100, height: 6}),
					svg('rect', {class: item.hot ? 'level hot' : 'level', y: 10, width: 100 * Math.min(1, Math.max(0, item.level)), height: 6})));
			if (item.spark) fact.append(spark(item.spark, item.sparkLabel || item.key));
			if (item.note) fact.append(make('div.k', item.note));
			host.append(fact);
		}
	};

	/* One bar of parts: {name, share: 0 to 1, cls: class of its colour, text: beside the name; else the share} */
	kinds.split = (section, host) => {
		host.className = 'split';
		host.setAttribute('aria-label', section.label);
		const line = svg('svg', {viewBox: '0 0 1000 12', preserveAspectRatio: 'none', 'aria-hidden': 'true'}), list = make('ul');
		let x = 0;
		for (const part of section.parts) {
			const w = 1000 * part.share;
			line.append(svg('rect', {class: part.cls.replace('.', ' '), x: x.toFixed(2), width: (w > 2 ? w - 1 : w).toFixed(2), height: 12}));
			x += w;
			list.append(make('li', make('span.dot.' + part.cls), part.name + ' ', make('b', part.text ?? percent(100 * part.share))));
		}
		host.append(line, list);
	};

	/* tabs: {id, title, sections}: elements tab-ID and view-ID. A view is drawn when it is first shown. */
	kinds.tabs = (section, host, r) => {
		const list = make('div.tabs'), views = new Map();
		list.setAttribute('role', 'tablist');
		list.setAttribute('aria-label', section.label || 'Views');
		host.append(list);
		const tabs = section.tabs.filter(Boolean);
		const buttons = tabs.map((tab, i) => {
			const b = button(tab.title, () => show(tab.id, false, true)), view = make('section.view');
			b.id = 'tab-' + tab.id;
			b.setAttribute('role', 'tab');
			b.setAttribute('aria-controls', 'view-' + tab.id);
			b.addEventListener('keydown', e => {
				const step = {ArrowRight: 1, ArrowLeft: -1}[e.key];
				if (!step) return;
				e.preventDefault();
				show(tabs[(i + step + tabs.length) % tabs.length].id, true, true);
			});
			view.id = 'view-' + tab.id;
			view.setAttribute('role', 'tabpanel');
			view.setAttribute('aria-labelledby', b.id);
			view.tabIndex = -1;
			view.hidden = true;
			host.append(view);
			views.set(tab.id, {tab, button: b, view, drawn: false});
			list.append(b);
			return b;
		});
		function show(id, focus, keep) {
			for (const [key, v] of views) {
				v.button.setAttribute('aria-selected', String(key === id));
				v.button.tabIndex = key === id ? 0 : -1;
				v.view.hidden = key !== id;
			}
			const chosen = views.get(id);
			if (!chosen.drawn) {
				chosen.drawn = true;
				draw(chosen.tab.sections, chosen.view, r);
			}
			if (focus) chosen.button.focus();
			if (keep) state.set('tab', id === tabs[0].id ? '' : id);
			chosen.view.dispatchEvent(new CustomEvent('shown'));
		}
		openers.push((id, focus) => {
			if (!views.has(id)) return false;
			show(id, focus, true);
			return true;
		});
		show(views.has(state.get('tab')) ? state.get('tab') : tabs[0].id, false, false);
		return buttons;
	};
	const openers = [];
	/* Shows the tab of that id. */
	const openTab = (id, focus) => openers.some(open => open(id, focus));

	/* A field for words that are searched in what `id` names; the address keeps them. act: words in lower case => what is said beside the field.
	 * apply() acts on what the address has. */
	function searchField(id, placeholder, act) {
		const input = make('input'), matched = make('output');
		const apply = () => { matched.textContent = act(input.value.toLowerCase().split(/\s+/).filter(Boolean)); };
		Object.assign(input, {type: 'search', id: id + '-search', placeholder, autocomplete: 'off', spellcheck: false, maxLength: 200, value: state.get('q-' + id)});
		input.dataset.filter = id;
		matched.id = id + '-count';
		matched.setAttribute('aria-live', 'polite');
		input.addEventListener('input', () => {
			state.set('q-' + id, input.value.trim());
			apply();
		});
		return {field: make('label.field', make('span.sr', placeholder), input), matched, apply};
	}

	/* A table that is sorted by its headings and searched.
	 * {id, title: a heading above; omitted: none, search: placeholder; omitted: no search, rows, most: rows shown at first (200),
	 *  strong: row => it matters; omitted: none does, empty: what is said where there are none, note: text below,
	 *  columns: [{title, cell: row => text, node, or {text, sort, title, cls, search: what is searched instead of the text}, sort: 'number', 'text'
	 *             or none, cls: of th and td, by: row => number}]} */
	kinds.table = (section, host) => {
		const id = section.id, table = make('table'), head = make('tr'), body = make('tbody'), columns = section.columns.filter(Boolean);
		let rows = section.rows, found = rows, most = section.most || 200, sorted = -1, falling = true, words = [], apply = refresh;
		const texts = new Map();
		const cellOf = (column, row) => {
			const c = column.cell(row);
			return c !== null && typeof c === 'object' && !(c instanceof Node) && !Array.isArray(c) ? c : {text: c};
		};
		const textOf = row => {
			if (!texts.has(row)) texts.set(row, columns.map(c => cellOf(c, row)).map(c => c.search ?? make('p', c.text ?? '').textContent).join(' ').toLowerCase());
			return texts.get(row);
		};
		const valueOf = (column, row) => column.by ? column.by(row) : cellOf(column, row).sort ?? make('p', cellOf(column, row).text ?? '').textContent;
		table.id = id;
		if (columns.length > 2 && columns.at(-1).cls === 'name') table.className = 'name-last';
		columns.forEach((column, i) => {
			const th = make('th', column.sort ? button(column.title, () => {
				falling = sorted === i ? !falling : column.sort === 'number';
				sorted = i;
				for (const other of head.cells) other.removeAttribute('aria-sort');
				th.setAttribute('aria-sort', falling ? 'descending' : 'ascending');
				refresh();
			}) : column.title);
			th.className = column.cls || (column.sort === 'number' ? 'n' : '');
			th.scope = 'col';
			head.append(th);
		});
		const more = button('', () => { most += 800; fill(); });
		more.className = 'quiet';
		function line(row) {
			const tr = make(section.strong && section.strong(row) ? 'tr.strong' : 'tr');
			for (const column of columns) {
				const c = cellOf(column, row), td = make('td', c.text ?? '');
				td.className = [column.cls || (column.sort === 'number' ? 'n' : ''), c.cls || ''].join(' ').trim();
				if (column !== columns.at(-1)) td.dataset.label = column.title;
				if (c.title) td.title = c.title;
				tr.append(td);
			}
			return tr;
		}
		function fill() {
			const empty = make('td', words.length ? 'Nothing matches.' : section.empty || 'None.');
			empty.colSpan = columns.length;
			body.replaceChildren(...(found.length ? found.slice(0, most).map(line) : [make('tr', empty)]));
			more.hidden = found.length <= most;
			more.textContent = `Show more (${count(Math.max(0, found.length - most))} left)`;
		}
		function refresh() {
			found = words.length ? rows.filter(row => words.every(w => textOf(row).includes(w))) : rows;
			if (sorted >= 0) {
				const column = columns[sorted], keys = new Map(found.map(row => [row, valueOf(column, row)]));
				const by = column.sort === 'number' ? (a, b) => keys.get(a) - keys.get(b) : (a, b) => String(keys.get(a)).localeCompare(String(keys.get(b)));
				found = [...found].sort((a, b) => (falling ? -1 : 1) * by(a, b));
			}
			fill();
		}
		if (section.title) host.append(make('h2', section.title));
		if (section.search && rows.length > 1) {
			const search = searchField(id, section.search, given => {
				words = given;
				refresh();
				return words.length ? `${count(found.length)} of ${count(rows.length)}` : '';
			});
			host.append(make('div.tools', search.field, search.matched));
			apply = search.apply;
		}
		table.append(make('thead', head), body);
		host.append(make('div.scroll', table), more);
		if (section.note) host.append(make('p.hint', make('span', section.note)));
		apply();
	};

	/* Texts and a list of figures: {texts: [...], rows: [[key, value], ...]; rows whose value is null are left out} */
	kinds.about = (section, host) => {
		const about = make('div.about'), list = make('dl');
		about.id = 'about';
		for (const text of section.texts || []) about.append(make('p', text));
		for (const [key, value] of (section.rows || []).filter(row => row && row[1] !== null && row[1] !== undefined))
			list.append(make('dt', key), make('dd', value));
		about.append(list);
		host.append(about);
	};

	/* {title: a heading above; omitted: none, texts: [...]} */
	kinds.text = (section, host) => host.append(...[section.title ? make('h2', section.title) : null,
		...section.texts.map(text => make('p', text))].filter(Boolean));

	/* Whatever else a view draws itself: {draw: (host, r) => void} */
	kinds.own = (section, host, r) => section.draw(host, r);

	/* What the rules found, what they excluded and what they could not judge: below the diagnosis, closed. */
	function drawFindings(r, host) {
		const found = r.findings || [], excluded = r.excluded || [], lacking = r.notMeasured || [];
		const all = [...found.map(f => [f.state === 'Found' ? 'Found' : 'Possible', f]), ...excluded.map(f => ['Excluded', f]),
			...lacking.map(f => ['Not measured', f])];
		if (!all.length) return;
		const number = (n, what) => n ? `${n} ${what}` : null;
		const box = make('details.findings'), place = make('section');
		box.append(make('summary', 'What was looked for: ', [number(found.length, 'found'), number(excluded.length, 'excluded'),
			number(lacking.length, 'not measured')]
			.filter(Boolean).join(', ')), place);
		host.append(box);
		kinds.table({id: 'findings', rows: all, strong: ([state]) => state === 'Found', columns: [
			{title: '', cell: ([state]) => ({text: make('span.badge.' + state.toLowerCase().replace(' ', '-'), state)})},
			{title: 'What', cls: 'name', cell: ([, f]) => ({text: [make('strong', f.what || f.id), make('br'), f.message], search: `${f.id} ${f.what || ''}`})},
			{title: 'Evidence', cell: ([, f]) => f.evidence || ''},
			{title: 'Score', sort: 'number', by: ([, f]) => f.score || 0, cell: ([, f]) => f.score ? String(f.score) : ''},
		]}, place);
	}

	function draw(sections, host, r) {
		for (const section of sections.filter(Boolean)) {
			const place = make('section');
			host.append(place);
			kinds[section.kind](section, place, r);
		}
	}

	/* rows of "About" that all profilers have ------------------------------------------------------------------ */

	/* A pause is of all threads of the application, a wait of one. */
	function pause(r) {
		const us = r.cost.maxPauseMicroseconds;
		return us > 0 ? milliseconds(us) : 'never';
	}
	function wait(r) {
		const us = r.cost.maxWaitMicroseconds;
		return us === null ? 'not measured' : us > 0 ? milliseconds(us) : 'none';
	}
	const leftTexts = {
		events: 'the runtime goes on to make the events of this session: it would not end them',
		mappedLibrary: 'the profiler\'s library is mapped until the process ends, without a thread',
		activityTracking: 'the runtime\'s activity tracking stays on until the process ends: who listens to its event sources later pays for it',
		unusedLibrary: 'the profiler\'s library stays mapped, inactive, until the process ends: the C library of Alpine (musl) unmaps none',
	};
	function costRows(r) {
		const c = r.cost, n = c.blockingCollections;
		return [
			['Application paused by the profiler', pause(r)],
			['Longest wait of a thread for the profiler', wait(r)],
			['Garbage collection', n > 0 ? plural(n, 'blocking garbage collection') + ' while attached, ' +
				`${(c.blockingCollectionMicroseconds / 1000).toFixed(1)} ms` : null],
			['Cost in the process', c.addedCPUMilliseconds + ' ms of CPU'],
			['Cost in the agent', c.agentCPUMilliseconds + ' ms of CPU'],
			['Left in the process', (c.left || []).map(what => leftTexts[what] || what).join('; ') +
				(c.keptLibraryBytes ? ` (${c.keptLibraryBytes / 1024} KiB, the same for all sessions)` : '') || null],
			['Session', r.session.name ? r.session.namespace + '/' + r.session.name : null],
			['Requested by', r.session.requestedBy || null],
		];
	}
	/* What no stack can tell, of reports whose callers are else complete. */
	const tailCallRow = ['Tail calls', 'a method that ends by calling another may give its place on the stack to it: then it is missing, and its caller ' +
		'seems to have called that one'];

	/* what the address keeps ------------------------------------------------------------------------------------- */

	/* Small texts by name, kept in the address so that a place in a report can be sent: report.html#tab=methods&q=tax */
	const state = (() => {
		const words = new URLSearchParams(location.hash.slice(1));
		return {
			get: name => words.get(name) || '',
			set(name, value) {
				if (value) words.set(name, value); else words.delete(name);
				const text = words.toString();
				try { history.replaceState(null, '', text ? '#' + text : location.pathname + location.search); } catch { /* a sandboxed page has no address */ }
				if (window.parent !== window) window.parent.postMessage({state: text}, '*');
			},
		};
	})();

	/* Another place in the same report. */
	if (window.parent === window) addEventListener('hashchange', () => { if (location.hash.includes('=')) location.reload(); });

	/* the diagnosis ------------------------------------------------------------------------------------------------ */

	/* Makes the names of methods in the diagnosis links: show(i) of methods[i]. A shortened name ("\u2026Tax.Compute") is that of the method with this end
	 * and the largest total. */
	function linkMethods(methods, show) {
		const plain = name => name.split(/[(<]/, 1)[0], known = new Map();
		const larger = (a, b) => a === undefined || methods[b].total > methods[a].total ? b : a;
		methods.forEach((m, i) => { for (const name of new Set([m.name, plain(m.name)])) known.set(name, larger(known.get(name), i)); });
		const find = word => {
			const exact = known.get(word) ?? known.get(plain(word));
			if (exact !== undefined || !word.startsWith('\u2026')) return exact;
			return methods.reduce((best, m, i) => plain(m.name).endsWith(plain(word).slice(1)) ? larger(best, i) : best, undefined);
		};
		for (const e of document.querySelectorAll('#headline, .lines li')) {
			const parts = e.textContent.split(/(\u2026?[\p{L}_][\p{L}\p{N}_`+]*(?:[.#\u2026][\p{L}\p{N}_`+]+)+(?:<[^<>]*>)?(?:\([^()]*\))?)/u);
			e.replaceChildren(...parts.filter(Boolean).map(part => {
				const i = /[.#]/.test(part) ? find(part) : undefined;
				if (i === undefined) return part;
				const a = make('a.method', part);
				a.href = '#' + new URLSearchParams({q: methods[i].name});
				a.title = 'Show it in the graph: ' + methods[i].name;
				a.addEventListener('click', e => {
					if (e.ctrlKey || e.metaKey || e.shiftKey) return;
					e.preventDefault();
					show(i);
				});
				return a;
			}));
		}
	}

	/* the report ------------------------------------------------------------------------------------------------- */

	/* report.json, as a page holds it. */
	async function unpack(text) {
		const packed = Uint8Array.from(atob(text), c => c.charCodeAt(0));
		const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
		return JSON.parse(await new Response(stream).text());
	}

	/* Draws the report; once a page. `view`: report.json to sections. */
	async function show(view) {
		const page = document.documentElement.dataset;
		try {
			const r = await unpack($('data').textContent);
			drawFindings(r, $('content'));
			draw(view(r), $('content'), r);
			page.ready = page.page = 'ready';
			dispatchEvent(new Event('drawn')); /* whoever shows this page in a frame may want to know how high it is */
		} catch (e) {
			page.page = 'failed';
			$('content').append(make('p.failed', 'This browser cannot show the rest of the report; it is in report.json. '), make('p.hint', String(e)));
			throw e;
		}
	}

	return {make, svg, button, bytes, count, plural, percent, share, change, milliseconds, duration, roundDuration, generation, bar, spark, kinds, draw,
		openTab, pause, wait, costRows, tailCallRow, state, breakable, searchField, unpack, linkMethods, show};
})();
