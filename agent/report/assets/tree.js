'use strict';
/* A tree as a table whose lines are unfolded one by one, with mouse or keys, and searched. Where one is and what is searched is kept in the address.
 *
 *   {kind: 'tree', id: of the table, label, heading: of the names' column, search: placeholder,
 *    parent: [-1, 0, 1, ...] in preorder; node 0 is the whole and is not shown, weight: [...] of each node with all below it,
 *    name: i => text, full: i => what is searched and stands in the tooltip, strong: i => it matters,
 *    columns: [{title, cell: i => text or node, cls: 'n' unless said}],
 *    found: (lines, weight, some) => text beside the search; some: not all of the lines are shown and in the weight,
 *    empty: what is said where there is only node 0, note: text below} */
Report.kinds.tree = (section, host) => {
	const {make, breakable, button, count, state} = Report;
	const PART = 50, HITS = 300; /* children shown at first, lines found */
	const {parent, weight} = section, size = parent.length, depth = new Int32Array(size), children = Array.from({length: size}, () => []);
	for (let i = 1; i < size; i++) {
		depth[i] = depth[parent[i]] + 1;
		children[parent[i]].push(i);
	}
	const table = make('table.tree'), body = make('tbody'), width = section.columns.length + 1;
	const open = new Set([0]), wide = new Map(); /* wide: how many children of a node are shown */
	const searched = [];                         /* by node: its full name in lower case */
	let hits = null, keep = null, current = -1;

	/* the lines ------------------------------------------------------------------------------------------- */

	function nameCell(i, level, ...content) {
		const td = make('td.name', ...content);
		td.style.setProperty('--level', Math.min(level, 16) - 1);
		return td;
	}
	function line(i, position, siblings) {
		const inner = children[i].length > 0, turn = make(inner ? 'span.turn' : 'span.turn.leaf', inner ? open.has(i) ? '\u25be' : '\u25b8' : '');
		const td = nameCell(i, depth[i], turn, ...breakable(section.name(i))), tr = make('tr', td);
		turn.setAttribute('aria-hidden', 'true');
		td.title = section.full(i);
		for (const column of section.columns) {
			const cell = make('td', column.cell(i));
			cell.className = column.cls ?? 'n';
			tr.append(cell);
		}
		tr.dataset.i = i;
		tr.tabIndex = -1;
		tr.setAttribute('aria-level', depth[i]);
		tr.setAttribute('aria-posinset', position);
		tr.setAttribute('aria-setsize', siblings);
		if (inner) tr.setAttribute('aria-expanded', String(open.has(i)));
		if (i === current) tr.setAttribute('aria-selected', 'true');
		tr.classList.toggle('strong', section.strong(i));
		tr.classList.toggle('hit', hits !== null && hits.has(i));
		return tr;
	}
	function moreLine(i, left) {
		const td = nameCell(i, depth[i] + 1, button(`Show more (${count(left)} left)`, () => {
			wide.set(i, (wide.get(i) || PART) + PART * 4);
			draw();
		}));
		td.colSpan = width;
		return make('tr', td);
	}
	function draw() {
		const rows = [], walk = [[0, 0]];
		while (walk.length) {
			const top = walk[walk.length - 1], [node, next] = top;
			const list = keep ? children[node].filter(c => keep.has(c)) : children[node], most = keep ? list.length : wide.get(node) || PART;
			if (next >= list.length || next >= most) {
				if (next < list.length) rows.push(moreLine(node, list.length - next));
				walk.pop();
				continue;
			}
			top[1]++;
			rows.push(line(list[next], next + 1, list.length));
			if (open.has(list[next])) walk.push([list[next], 0]);
		}
		body.replaceChildren(...rows);
		const first = rowOf(current) || body.querySelector('tr[data-i]');
		if (first) first.tabIndex = 0;
	}
	const rowOf = i => body.querySelector(`tr[data-i="${i}"]`);

	/* the way through them -------------------------------------------------------------------------------- */

	function goTo(i) {
		current = i;
		state.set('at', i > 0 ? String(i) : '');
		for (const other of body.querySelectorAll('[aria-selected]')) other.removeAttribute('aria-selected');
		for (const other of body.querySelectorAll('tr[tabindex="0"]')) other.tabIndex = -1;
		const row = rowOf(i);
		if (!row) return;
		row.tabIndex = 0;
		row.setAttribute('aria-selected', 'true');
		row.focus();
	}
	function turn(i, to) {
		if (!children[i].length || open.has(i) === to) return;
		if (to) open.add(i); else open.delete(i);
		draw();
	}
	/* The way on from a node as long as one child has most of it. */
	function openChain(i) {
		for (;;) {
			open.add(i);
			const first = children[i][0];
			if (first === undefined || weight[first] * 2 < weight[i]) return;
			i = first;
		}
	}
	/* A node's parents, and their children as far as it is among them. */
	function openTo(i) {
		for (let at = i; at > 0; at = parent[at]) {
			const place = children[parent[at]].indexOf(at);
			if (place >= PART) wide.set(parent[at], place + PART);
			open.add(at);
		}
	}
	function step(row, by) {
		do row = row[by]; while (row && !row.dataset.i);
		return row ? Number(row.dataset.i) : -1;
	}
	const keys = {
		ArrowDown: (i, row) => step(row, 'nextElementSibling'),
		ArrowUp: (i, row) => step(row, 'previousElementSibling'),
		Home: () => Number(body.querySelector('tr[data-i]').dataset.i),
		ArrowRight(i) {
			if (open.has(i)) return children[i].find(c => !keep || keep.has(c)) ?? i;
			turn(i, true);
			return i;
		},
		ArrowLeft(i) {
			if (!open.has(i) || !children[i].length) return parent[i] || i;
			turn(i, false);
			return i;
		},
		Enter(i) {
			turn(i, !open.has(i));
			return i;
		},
	};
	keys[' '] = keys.Enter;
	body.addEventListener('click', e => {
		const row = e.target.closest('tr[data-i]');
		if (!row || String(getSelection())) return; /* who marks a name wants to copy it */
		turn(Number(row.dataset.i), !open.has(Number(row.dataset.i)));
		goTo(Number(row.dataset.i));
	});
	body.addEventListener('keydown', e => {
		const row = e.target.closest('tr[data-i]');
		if (!row || !keys[e.key] || e.ctrlKey || e.metaKey || e.altKey || e.target !== row) return;
		e.preventDefault();
		const to = keys[e.key](Number(row.dataset.i), row);
		if (to > 0) goTo(to);
	});

	/* search ---------------------------------------------------------------------------------------------- */

	function find(words) {
		let sum = 0, lines = 0;
		hits = new Set();
		keep = new Set();
		for (let i = 1; i < size; i++) {
			const own = searched[i] ??= section.full(i).toLowerCase();
			if (!words.every(w => own.includes(w)) || lines++ >= HITS) continue;
			let inside = false;
			for (let above = parent[i]; above > 0; above = parent[above]) {
				inside = inside || hits.has(above);
				keep.add(above);
				open.add(above);
			}
			hits.add(i);
			keep.add(i);
			sum += inside ? 0 : weight[i];
			for (const c of children[i]) keep.add(c);
		}
		return lines ? section.found(lines, sum, lines > HITS) : 'Nothing matches';
	}
	const search = Report.searchField(section.id, section.search, words => {
		hits = keep = null;
		const text = words.length ? find(words) : '';
		draw();
		return text;
	});

	/* all of it ------------------------------------------------------------------------------------------- */

	table.id = section.id;
	table.append(make('thead', make('tr', ...[{title: section.heading, cls: ''}, ...section.columns].map(column => {
		const th = make('th', column.title);
		th.className = column.cls ?? 'n';
		th.scope = 'col';
		return th;
	}))), body);
	if (size < 2) { /* there is nothing to search */
		const td = make('td.name', section.empty || 'None.');
		td.colSpan = width;
		body.append(make('tr', td));
		host.append(make('div.scroll', table));
		return;
	}
	const fold = button('Fold all', () => {
		open.clear();
		open.add(0);
		wide.clear();
		draw();
		current = -1;
		state.set('at', '');
	});
	fold.className = 'quiet';
	fold.id = section.id + '-fold';
	table.setAttribute('role', 'treegrid');
	table.setAttribute('aria-label', section.label);
	const keysHint = [[['\u2191', '\u2193'], 'move'], [['\u2192'], 'open'], [['\u2190'], 'close'], [['/'], 'search']];
	host.append(make('div.tools.beside', search.field, search.matched, make('span.spring'), fold), make('div.scroll', table), make('p.hint',
		make('span', section.note || ''), make('span.keys', ...keysHint.map(([names, what]) => make('span', ...names.map(n => make('kbd', n)), ' ' + what)))));
	const at = Number(state.get('at'));
	if (Number.isInteger(at) && at > 0 && at < size) {
		current = at;
		openTo(at);
	} else if (children[0].length) {
		openChain(children[0][0]);
	}
	search.apply();
	if (current > 0) rowOf(current)?.scrollIntoView({block: 'center'});
};
