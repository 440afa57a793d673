'use strict';
/* The dominator tree, to be opened line by line and searched. All else of the page is the frame's. */
(() => {
	const $ = id => document.getElementById(id);
	const data = JSON.parse($('data').textContent);
	const WIDTH = 6, DEEPEST = 16, PART = 50, HITS = 300;
	const count = data.tree.length / WIDTH;
	const parent = new Int32Array(count), depth = new Int32Array(count), children = Array.from({length: count}, () => []);
	const at = (i, column) => data.tree[i * WIDTH + column];
	const name = i => data.names[at(i, 1)];
	for (let i = 1, before = 0; i < count; i++) {
		for (let up = at(i, 0); up > 0; up--) before = parent[before];
		parent[i] = before;
		depth[i] = depth[before] + 1;
		children[before].push(i);
		before = i;
	}

	const make = (tag, cls, text) => {
		const e = document.createElement(tag);
		if (cls) e.className = cls;
		if (text !== undefined) e.textContent = text;
		return e;
	};
	const bytes = n => {
		const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
		let unit = 0;
		while (unit + 1 < units.length && n >= (unit ? 999.5 : 1000)) {
			n /= 1000;
			unit++;
		}
		return (unit && n < 9.95 ? n.toFixed(1) : Math.round(n)) + ' ' + units[unit];
	};
	const percent = n => {
		const p = data.all ? Math.min(100, 100 * n / data.all) : 0;
		return (p >= 9.95 ? p.toFixed(0) : p >= 0.095 || p === 0 ? p.toFixed(1) : p.toFixed(2)) + ' %';
	};
	const number = n => n.toLocaleString('en-US');
	const bar = n => {
		const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg');
		svg.setAttribute('aria-hidden', 'true');
		for (const [cls, part] of [['track', 100], ['level', data.all ? Math.min(100, 100 * n / data.all) : 0]]) {
			const r = document.createElementNS(ns, 'rect');
			r.setAttribute('class', cls);
			r.setAttribute('width', part.toFixed(2) + '%');
			r.setAttribute('height', '8');
			r.setAttribute('rx', '2');
			svg.append(r);
		}
		return svg;
	};

	/* the lines ------------------------------------------------------------------------------------------- */

	const body = $('tree').tBodies[0];
	const open = new Set([0]), wide = new Map(); /* wide: how many children of a node are shown */
	let hits = null, keep = null, current = -1;

	const cell = (cls, content) => {
		const td = make('td', cls);
		td.append(content);
		return td;
	};
	function line(i, position, size) {
		const tr = make('tr'), td = make('td', 'name d' + Math.min(depth[i], DEEPEST)), kind = at(i, 2), inner = children[i].length > 0;
		const isOpen = open.has(i);
		const turn = make('span', inner ? 'turn' : 'turn leaf', inner ? isOpen ? '\u25be' : '\u25b8' : '');
		turn.setAttribute('aria-hidden', 'true');
		td.append(turn, name(i));
		if (kind >= 0) td.classList.add('root');
		tr.append(td, cell('n', bytes(at(i, 5))), cell('n', percent(at(i, 5))), cell('bar', bar(at(i, 5))), cell('n', number(at(i, 3))),
			cell('n', kind < 0 ? bytes(at(i, 4)) : ''));
		tr.dataset.i = i;
		tr.tabIndex = -1;
		tr.setAttribute('aria-level', depth[i]);
		tr.setAttribute('aria-posinset', position);
		tr.setAttribute('aria-setsize', size);
		if (inner) tr.setAttribute('aria-expanded', String(isOpen));
		if (hits && hits.has(i)) tr.classList.add('hit');
		return tr;
	}
	function moreLine(i, left) {
		const tr = make('tr'), td = make('td', 'name d' + Math.min(depth[i] + 1, DEEPEST)), b = make('button', '', 'Show more (' + left + ' left)');
		b.type = 'button';
		b.addEventListener('click', () => {
			wide.set(i, (wide.get(i) || PART) + PART * 4);
			draw();
		});
		td.colSpan = WIDTH;
		td.append(b);
		tr.append(td);
		return tr;
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
		const first = body.querySelector('tr[data-i="' + current + '"]') || body.querySelector('tr[data-i]');
		if (first) first.tabIndex = 0;
	}
	function focusOn(i) {
		const row = body.querySelector('tr[data-i="' + i + '"]');
		if (!row) return;
		for (const other of body.querySelectorAll('tr[tabindex="0"]')) other.tabIndex = -1;
		current = i;
		row.tabIndex = 0;
		row.focus();
	}
	function turn(i, to) {
		if (!children[i].length || open.has(i) === to) return;
		if (to) open.add(i); else open.delete(i);
		current = i;
		draw();
	}
	/* The way on from a node as long as one child has most of it. */
	function openChain(i) {
		for (;;) {
			open.add(i);
			const first = children[i][0];
			if (first === undefined || at(first, 5) * 2 < at(i, 5)) return;
			i = first;
		}
	}

	body.addEventListener('click', e => {
		const row = e.target.closest('tr[data-i]');
		if (!row) return;
		const i = Number(row.dataset.i);
		turn(i, !open.has(i));
		focusOn(i);
	});
	body.addEventListener('keydown', e => {
		const row = e.target.closest('tr[data-i]');
		if (!row || e.ctrlKey || e.metaKey || e.altKey) return;
		const i = Number(row.dataset.i);
		let to = i;
		if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
			let other = row;
			do other = e.key === 'ArrowDown' ? other.nextElementSibling : other.previousElementSibling; while (other && !other.dataset.i);
			if (other) to = Number(other.dataset.i);
		} else if (e.key === 'ArrowRight') {
			if (open.has(i) && children[i].length) to = children[i].find(c => !keep || keep.has(c)) ?? i;
			else turn(i, true);
		} else if (e.key === 'ArrowLeft') {
			if (open.has(i) && children[i].length) turn(i, false);
			else if (parent[i]) to = parent[i];
		} else if (e.key === 'Enter' || e.key === ' ') {
			turn(i, !open.has(i));
		} else {
			return;
		}
		e.preventDefault();
		focusOn(to);
	});

	/* search ---------------------------------------------------------------------------------------------- */

	function search(text) {
		const words = text.toLowerCase().split(/\s+/).filter(Boolean);
		hits = keep = null;
		$('matched').textContent = '';
		if (words.length) {
			hits = new Set();
			keep = new Set();
			let sum = 0, more = 0;
			for (let i = 1; i < count; i++) {
				const own = name(i).toLowerCase();
				if (!words.every(w => own.includes(w))) continue;
				if (hits.size >= HITS) {
					more++;
					continue;
				}
				let inside = false;
				for (let a = parent[i]; a > 0; a = parent[a]) {
					inside = inside || hits.has(a);
					keep.add(a);
					open.add(a);
				}
				hits.add(i);
				keep.add(i);
				sum += inside ? 0 : at(i, 5);
				for (const c of children[i]) keep.add(c);
			}
			$('matched').textContent = hits.size ? number(hits.size + more) + (hits.size + more === 1 ? ' line holds ' : ' lines hold ') +
				(more ? 'more than ' : '') + bytes(sum) + ' (' + percent(sum) + ')' : 'Nothing matches';
		}
		draw();
	}
	$('search').addEventListener('input', e => search(e.target.value));
	$('fold').addEventListener('click', () => {
		open.clear();
		open.add(0);
		draw();
	});
	document.addEventListener('keydown', e => {
		if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT)$/.test(e.target.tagName)) return;
		const view = document.querySelector('.view:not([hidden])'), input = view && view.querySelector('input[type=search]');
		if (!input) return;
		input.focus();
		e.preventDefault();
	});

	if (count > 1) { /* else what the page says of it stays */
		$('tree').setAttribute('role', 'treegrid');
		$('tree').setAttribute('aria-label', 'Retained by');
		$('tree-tools').hidden = $('tree-keys').hidden = false;
		if (children[0].length) openChain(children[0][0]);
		draw();
	}
	document.documentElement.dataset.ready = 'yes';
})();
