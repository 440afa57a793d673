'use strict';
(() => {
	const $ = id => document.getElementById(id);
	const data = JSON.parse($('data').textContent);
	const LAYERS = ['Application', '.NET libraries', 'Runtime', 'Native libraries', 'Kernel', 'No name', 'Allocation'];
	const ALLOCATION = 6; /* what is allocated in a method are its children of this layer */
	const MARKS = [[2, 'async'], [4, 'iterator'], [8, 'lambda'], [16, 'local'], [32, 'dynamic'], [64, 'no symbols']];
	const names = data.names, methodCount = names.length;
	const lower = names.map((n, i) => (n + ' ' + data.mods[data.mod[i]]).toLowerCase());
	const percent = (part, all) => {
		const p = all ? 100 * part / all : 0;
		return p.toFixed(p >= 9.95 || p === 0 ? 1 : p >= 0.095 ? 1 : 2) + ' %';
	};
	/* Of CPU time unless the data say otherwise: weights are then bytes. */
	const bytes = data.unit === 'bytes';
	const WORDS = bytes ? {widest: 'Flame graph: the widest frames allocate the most', all: ' of all bytes', share: 'Share', amount: 'Bytes'}
		: {widest: 'Flame graph: the widest frames use the most CPU', all: ' of all CPU time', share: 'CPU', amount: 'Time'};
	const size = n => {
		let unit = 0;
		for (; n >= 999.5 && unit < 4; unit++) n /= 1000;
		return n.toFixed(unit && n < 9.95 ? 1 : 0) + ' ' + ['bytes', 'kB', 'MB', 'GB', 'TB'][unit];
	};
	const amount = samples => {
		if (bytes) return size(samples * data.period);
		const s = samples * data.period / 1e9;
		return s >= 10 ? s.toFixed(1) + ' s' : s >= 1 ? s.toFixed(2) + ' s' : Math.round(s * 1000) + ' ms';
	};
	const marksOf = m => MARKS.filter(([bit]) => data.marks[m] & bit).map(([, word]) => word);
	const make = (tag, cls, text) => {
		const e = document.createElement(tag);
		if (cls) e.className = cls;
		if (text !== undefined) e.textContent = text;
		return e;
	};

	/* trees: nodes in preorder, node 0 is "all" ------------------------------------------------------------- */

	function decodeTree() {
		const n = data.pop.length + 1;
		const parent = new Int32Array(n), method = new Int32Array(n), depth = new Int32Array(n);
		parent[0] = method[0] = -1;
		let at = 0;
		for (let i = 1; i < n; i++) {
			for (let k = data.pop[i - 1]; k > 0; k--) at = parent[at];
			parent[i] = at;
			method[i] = data.m[i - 1];
			depth[i] = depth[at] + 1;
			at = i;
		}
		return withChildren({parent, method, depth});
	}

	function withChildren(t) {
		const n = t.parent.length;
		t.first = new Int32Array(n).fill(-1);
		t.next = new Int32Array(n).fill(-1);
		for (let i = n - 1; i > 0; i--) {
			t.next[i] = t.first[t.parent[i]];
			t.first[t.parent[i]] = i;
		}
		return t;
	}

	/* Counts of the chosen thread (-1: all) into the tree. */
	function countTree(t, thread) {
		const n = t.parent.length;
		t.self = new Float64Array(n);
		t.total = new Float64Array(n);
		const add = (list, own) => {
			for (let i = 0, node = 0; i < list.length; i += 3) {
				node += list[i];
				if (thread >= 0 && list[i + 1] !== thread) continue;
				t.total[node] += list[i + 2];
				if (own) t.self[node] += list[i + 2];
			}
		};
		add(data.leaf, true);
		add(data.rest, false);
		for (let i = n - 1; i > 0; i--) t.total[t.parent[i]] += t.total[i];
		return t;
	}

	/* Self and total of each method; recursion counts once. */
	function countMethods(t, thread) {
		if (thread < 0) return {self: data.self, total: data.total};
		const self = new Float64Array(methodCount), total = new Float64Array(methodCount), on = new Int32Array(methodCount);
		const path = [];
		for (let i = 1; i < t.parent.length; i++) {
			while (path.length >= t.depth[i]) on[path.pop()]--;
			const m = t.method[i];
			path.push(m);
			self[m] += t.self[i];
			if (data.layer[m] === ALLOCATION && path.length > 1) self[path[path.length - 2]] += t.self[i];
			if (on[m]++ === 0) total[m] += t.total[i];
		}
		return {self, total};
	}

	function outermost(t, m) {
		const found = [];
		for (let i = 1, inside = Infinity; i < t.parent.length; i++) {
			if (t.depth[i] <= inside) inside = Infinity;
			if (t.method[i] !== m || inside !== Infinity) continue;
			inside = t.depth[i];
			if (t.total[i] > 0) found.push(i);
		}
		return found;
	}

	function newTree(m) {
		return {parent: [-1], method: [m], depth: [0], total: [0], self: [0], key: new Map()};
	}
	function childOf(t, parent, m) {
		const key = parent * (methodCount + 1) + m;
		let node = t.key.get(key);
		if (node === undefined) {
			node = t.parent.length;
			t.key.set(key, node);
			t.parent.push(parent);
			t.method.push(m);
			t.depth.push(t.depth[parent] + 1);
			t.total.push(0);
			t.self.push(0);
		}
		return node;
	}
	function calleesTree(t, m) {
		const out = newTree(m);
		for (const top of outermost(t, m)) {
			const map = [0];
			out.total[0] += t.total[top];
			out.self[0] += t.self[top];
			for (let i = top + 1; i < t.parent.length && t.depth[i] > t.depth[top]; i++) {
				const d = t.depth[i] - t.depth[top];
				const node = map[d] = childOf(out, map[d - 1], t.method[i]);
				out.total[node] += t.total[i];
				out.self[node] += t.self[i];
			}
		}
		return byTotal(out);
	}
	function callersTree(t, m) {
		const out = newTree(m);
		for (const top of outermost(t, m)) {
			let node = 0;
			out.total[0] += t.total[top];
			for (let i = t.parent[top]; i > 0; i = t.parent[i]) {
				node = childOf(out, node, t.method[i]);
				out.total[node] += t.total[top];
			}
			out.self[node] += t.total[top];
		}
		return byTotal(out);
	}
	function byTotal(t) {
		withChildren(t);
		for (let i = 0; i < t.parent.length; i++) {
			const kids = [];
			for (let c = t.first[i]; c >= 0; c = t.next[c]) kids.push(c);
			kids.sort((a, b) => t.total[b] - t.total[a]);
			kids.forEach((c, k) => { t.next[c] = k + 1 < kids.length ? kids[k + 1] : -1; });
			t.first[i] = kids.length ? kids[0] : -1;
		}
		return t;
	}

	/* flame graphs ------------------------------------------------------------------------------------------- */

	class Flame {
		constructor(host, label, up, onDetail) {
			this.host = host;
			this.up = up;
			this.onDetail = onDetail;
			this.frames = host.appendChild(make('div', 'frames'));
			this.frames.setAttribute('role', 'tree');
			this.frames.setAttribute('aria-label', label);
			this.zoomed = 0;
			this.current = 0;
			host.addEventListener('click', e => this.onClick(e));
			host.addEventListener('dblclick', e => { const n = this.nodeAt(e); if (n > 0) openCallers(this.tree.method[n]); });
			host.addEventListener('mouseover', e => { const n = this.nodeAt(e); if (n >= 0) this.describe(n); });
			host.addEventListener('mouseleave', () => this.describe(this.current));
			host.addEventListener('focusin', e => { const n = this.nodeAt(e); if (n >= 0) { this.current = n; this.describe(n); } });
			host.addEventListener('keydown', e => this.onKey(e));
		}
		setTree(tree) {
			this.tree = tree;
			if (this.zoomed >= tree.parent.length || !tree.total[this.zoomed]) this.zoomed = 0;
			this.current = this.zoomed;
			this.render();
		}
		nameOf(n) {
			const m = this.tree.method[n];
			return m < 0 ? 'all' : names[m];
		}
		nodeAt(e) {
			const f = e.target.closest && e.target.closest('.f');
			return f ? +f.dataset.n : -1;
		}
		describe(n) {
			if (this.onDetail) this.onDetail(this.tree, n);
		}
		onClick(e) {
			const n = this.nodeAt(e);
			if (n >= 0) this.zoom(n);
		}
		zoom(n, keepFocus) {
			this.zoomed = this.current = n;
			this.render();
			if (!keepFocus) this.focusOn(n);
			updateReset();
		}
		focusOn(n) {
			const f = this.elements.get(n);
			if (f) {
				for (const other of this.frames.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
				f.tabIndex = 0;
				f.focus({preventScroll: false});
				return true;
			}
			return false;
		}
		siblings(n) {
			const out = [];
			for (let c = this.tree.first[this.tree.parent[n]]; c >= 0; c = this.tree.next[c]) if (this.elements.has(c)) out.push(c);
			return out;
		}
		onKey(e) {
			const n = this.nodeAt(e), t = this.tree;
			if (n < 0 || e.ctrlKey || e.metaKey || e.altKey) return;
			const inward = this.up ? 'ArrowUp' : 'ArrowDown', outward = this.up ? 'ArrowDown' : 'ArrowUp';
			let to = -1;
			if (e.key === inward) {
				to = t.first[n];
				while (to >= 0 && !t.total[to]) to = t.next[to];
				if (to >= 0 && !this.elements.has(to)) this.zoom(n);
			} else if (e.key === outward) {
				to = t.parent[n];
			} else if ((e.key === 'ArrowLeft' || e.key === 'ArrowRight') && n > 0) {
				const all = this.siblings(n), at = all.indexOf(n) + (e.key === 'ArrowLeft' ? -1 : 1);
				to = at >= 0 && at < all.length ? all[at] : n;
			} else if (e.key === 'Home') {
				to = this.zoomed;
			} else if (e.key === 'Enter' || e.key === ' ') {
				this.zoom(n);
				to = n;
			} else if (e.key === 'Escape' || e.key === 'Backspace') {
				if (this.zoomed) this.zoom(t.parent[this.zoomed]);
				to = this.zoomed;
			} else if (e.key === 'c' || e.key === 'C') {
				if (t.method[n] >= 0) openCallers(t.method[n]);
				e.preventDefault();
				return;
			} else {
				return;
			}
			e.preventDefault();
			if (to >= 0) this.focusOn(to);
		}
		/* Only what is wide enough to be seen becomes an element. */
		render() {
			const t = this.tree, width = this.frames.clientWidth || 1000, row = matchMedia('(max-width:640px)').matches ? 25 : 21;
			const scale = t.total[this.zoomed] ? width / t.total[this.zoomed] : 0, least = 0.6;
			const boxes = [], above = [];
			for (let a = this.zoomed; a >= 0; a = t.parent[a]) above.push(a);
			above.reverse();
			above.forEach((a, level) => boxes.push([a, level, 0, width, a !== this.zoomed]));
			let deepest = above.length - 1;
			const stack = [[this.zoomed, 0, above.length - 1]];
			while (stack.length) {
				const [node, left, level] = stack.pop();
				let x = left;
				for (let c = t.first[node]; c >= 0; c = t.next[c]) {
					const w = t.total[c] * scale;
					if (w >= least) {
						boxes.push([c, level + 1, x, w, false]);
						stack.push([c, x, level + 1]);
						if (level + 1 > deepest) deepest = level + 1;
					}
					x += w;
				}
			}
			boxes.sort((a, b) => a[1] - b[1] || a[2] - b[2]);
			this.elements = new Map();
			const nodes = boxes.map(b => this.element(b, deepest, row));
			this.frames.style.height = (deepest + 1) * row + 'px';
			this.frames.replaceChildren(...nodes);
			this.host.classList.toggle('searching', hits !== null);
			this.describe(this.current);
		}
		element([n, level, x, w, isAbove], deepest, row) {
			const t = this.tree, m = t.method[n], f = make('div', 'f ' + (m < 0 ? 'all' : 'l' + data.layer[m]));
			if (w < 24) f.classList.add('thin');
			if (isAbove) f.classList.add('above');
			if (hits && m >= 0 && hits[m]) f.classList.add('hit');
			f.style.left = x + 'px';
			f.style.width = Math.max(w - (w > 3 ? 0.5 : 0), 0.6) + 'px';
			f.style.top = (this.up ? deepest - level : level) * row + 'px';
			f.dataset.n = n;
			f.tabIndex = n === this.zoomed ? 0 : -1;
			f.setAttribute('role', 'treeitem');
			f.setAttribute('aria-level', level + 1);
			f.setAttribute('aria-label', this.nameOf(n) + (m >= 0 ? marksOf(m).map(k => ', ' + k).join('') : '') + ', ' +
				percent(t.total[n], t.total[0]) + (t.self[n] ? ', ' + percent(t.self[n], t.total[0]) + ' in itself' : ''));
			if (w >= 24) {
				f.textContent = m < 0 ? 'all threads' : w < 220 ? shortName(names[m]) : names[m];
				if (m < 0 && chosen >= 0) f.textContent = data.threads[chosen][1];
				if (m >= 0 && w > 90 && data.marks[m] & 6) f.append(' ', make('i', '', data.marks[m] & 2 ? 'async' : 'iterator'));
			}
			this.elements.set(n, f);
			return f;
		}
	}

	/* "Shop.Cart.Total(int)" in little room: "Cart.Total". */
	function shortName(name) {
		const end = name.search(/[(<]/), head = end > 0 ? name.slice(0, end) : name;
		const parts = head.split('.');
		return parts.length > 2 ? parts.slice(-2).join('.') : name;
	}

	function showDetail(host, t, n, extra) {
		const m = t.method[n];
		const line = make('span', 'name', m < 0 ? chosen < 0 ? 'All threads' : data.threads[chosen][1] : names[m]);
		if (m >= 0) for (const mark of marksOf(m)) line.append(make('span', 'badge', mark));
		const parts = [line];
		const add = (value, text) => {
			const s = make('span');
			s.append(make('b', '', value), ' ' + text);
			parts.push(s);
		};
		add(percent(t.total[n], base.total[0]), 'total, ' + amount(t.total[n]));
		if (m >= 0) {
			if (!bytes || t.self[n]) add(percent(t.self[n], base.total[0]), extra || 'in itself here');
			if (data.mods[data.mod[m]]) parts.push(make('span', '', data.mods[data.mod[m]]));
			parts.push(make('span', '', LAYERS[data.layer[m]]));
		}
		host.replaceChildren(...parts);
	}

	/* state -------------------------------------------------------------------------------------------------- */

	let chosen = -1, hits = null, focusMethod = -1, sortKey = 'self', sortUp = false, shown = 100;
	const base = countTree(decodeTree(), -1);
	let methods = countMethods(base, -1);
	const flame = new Flame($('flame'), WORDS.widest, false, (t, n) => showDetail($('detail'), t, n));
	let callersFlame = null, calleesFlame = null;

	function updateReset() {
		const zoomed = flame.zoomed || (callersFlame && callersFlame.zoomed) || (calleesFlame && calleesFlame.zoomed);
		$('reset').disabled = !zoomed;
	}

	function updateMatched() {
		const out = $('matched');
		if (!hits) {
			out.textContent = chosen < 0 ? '' : percent(base.total[0], data.samples) + WORDS.all;
			return;
		}
		let sum = 0, count = 0;
		for (let i = 1, inside = Infinity; i < base.parent.length; i++) {
			if (base.depth[i] <= inside) inside = Infinity;
			if (inside !== Infinity || !hits[base.method[i]]) continue;
			inside = base.depth[i];
			sum += base.total[i];
		}
		for (const h of hits) count += h;
		out.textContent = count === 0 ? 'Nothing matches' : percent(sum, base.total[0]) + ' matches, ' + count + (count === 1 ? ' method' : ' methods');
	}

	function search(text) {
		const q = text.trim().toLowerCase();
		hits = q ? Uint8Array.from(lower, n => n.includes(q) ? 1 : 0) : null;
		refresh();
	}

	function chooseThread(index) {
		chosen = index;
		$('thread').value = String(index);
		countTree(base, chosen);
		methods = countMethods(base, chosen);
		refresh();
	}

	function refresh() {
		flame.setTree(base);
		if (current === 'methods') drawMethods();
		if (current === 'callers') drawCallers();
		updateMatched();
		updateReset();
	}

	/* tables ------------------------------------------------------------------------------------------------- */

	function svgBar(part) {
		const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg');
		const rect = (cls, w) => {
			const r = document.createElementNS(ns, 'rect');
			r.setAttribute('class', cls);
			r.setAttribute('width', (100 * w).toFixed(2) + '%');
			r.setAttribute('height', '8');
			r.setAttribute('rx', '2');
			svg.append(r);
		};
		svg.setAttribute('aria-hidden', 'true');
		rect('track', 1);
		rect('level', Math.min(1, part));
		return svg;
	}
	const cell = (cls, content) => {
		const td = make('td', cls);
		td.append(content);
		return td;
	};
	const button = (text, act, label) => {
		const b = make('button', '', text);
		b.type = 'button';
		if (label) b.setAttribute('aria-label', label);
		b.addEventListener('click', act);
		return b;
	};

	const COLUMNS = [['self', 'In itself', 'n'], ['', '', 'bar'], ['total', 'Total', 'n'], ['name', 'Method', ''], ['mod', 'Module', 'mod']];
	function drawMethodsHead() {
		const tr = make('tr');
		for (const [key, title, cls] of COLUMNS) {
			const th = make('th', cls);
			th.scope = 'col';
			if (key) {
				th.setAttribute('aria-sort', key === sortKey ? sortUp ? 'ascending' : 'descending' : 'none');
				th.append(button(title, () => {
					sortUp = key === sortKey ? !sortUp : key === 'name' || key === 'mod';
					sortKey = key;
					drawMethods();
					$('methods').querySelector('th[aria-sort=ascending] button,th[aria-sort=descending] button').focus();
				}));
			}
			tr.append(th);
		}
		$('methods').tHead.replaceChildren(tr);
	}
	function drawMethods() {
		const all = base.total[0], list = [];
		for (let m = 0; m < methodCount; m++) if (methods.total[m] > 0 && (!hits || hits[m])) list.push(m);
		const text = sortKey === 'name' ? m => names[m] : m => data.mods[data.mod[m]];
		const by = sortKey === 'self' || sortKey === 'total'
			? (a, b) => methods[sortKey][a] - methods[sortKey][b] || methods.total[a] - methods.total[b]
			: (a, b) => text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : methods.self[b] - methods.self[a];
		list.sort((a, b) => sortUp ? by(a, b) : by(b, a));
		drawMethodsHead();
		const rows = list.slice(0, shown).map(m => {
			const tr = make('tr'), name = make('td', 'name'), dot = make('span', 'dot l' + data.layer[m]);
			dot.title = LAYERS[data.layer[m]];
			name.append(dot, ' ', button(names[m], () => openCallers(m)));
			for (const mark of marksOf(m)) name.append(make('span', 'badge', mark));
			tr.append(cell('n', percent(methods.self[m], all)), cell('bar', svgBar(methods.self[m] / (all || 1))),
				cell('n', percent(methods.total[m], all)), name, cell('mod', data.mods[data.mod[m]]));
			return tr;
		});
		$('methods').tBodies[0].replaceChildren(...rows);
		$('more').hidden = list.length <= shown;
		$('more').textContent = 'Show more (' + Math.max(0, list.length - shown) + ' left)';
	}

	function drawThreads() {
		const tr = make('tr');
		for (const [title, cls] of [[WORDS.share, 'n'], ['', 'bar'], [WORDS.amount, 'n'], ['Thread', ''], ['Mostly', ''], ['Id', 'n mod']]) {
			const th = make('th', cls, title);
			th.scope = 'col';
			tr.append(th);
		}
		$('threads').tHead.replaceChildren(tr);
		$('threads').tBodies[0].replaceChildren(...data.threads.map(([tid, name, samples, cpuMs, top], i) => {
			const row = make('tr');
			row.append(cell('n', percent(samples, data.samples)), cell('bar', svgBar(samples / (data.samples || 1))),
				cell('n', bytes ? amount(samples) : (cpuMs / 1000).toFixed(2) + ' s'),
				cell('name', samples ? button(name || '(no name)', () => { chooseThread(i); openTab('flame', true); }, 'Flame graph of ' + name) : name),
				cell('name', top < 0 ? '' : names[top]), cell('n mod', tid < 0 ? '' : String(tid)));
			return row;
		}));
	}

	function openCallers(m) {
		focusMethod = m;
		openTab('callers', true);
	}
	function drawCallers() {
		if (focusMethod < 0) {
			focusMethod = 0;
			for (let m = 1; m < methodCount; m++) if (methods.self[m] > methods.self[focusMethod]) focusMethod = m;
		}
		if (!methodCount) return;
		if (!callersFlame) {
			const note = (t, n) => { if (n > 0) showDetail($('focus'), t, n, 'in itself below'); else about(); };
			callersFlame = new Flame($('callers'), 'Callers of the method, it stands at the bottom', true, note);
			calleesFlame = new Flame($('callees'), 'Callees of the method, it stands at the top', false, note);
		}
		function about() {
			showDetail($('focus'), {method: [focusMethod], total: [methods.total[focusMethod]], self: [methods.self[focusMethod]]}, 0, 'in itself');
		}
		callersFlame.zoomed = calleesFlame.zoomed = 0;
		callersFlame.setTree(callersTree(base, focusMethod));
		calleesFlame.setTree(calleesTree(base, focusMethod));
		about();
		updateReset();
	}

	/* tabs and controls -------------------------------------------------------------------------------------- */

	const tabs = ['flame', 'methods', 'callers', 'threads', 'about'];
	let current = 'flame';
	function openTab(id, moveFocus) {
		current = id;
		for (const t of tabs) {
			$('tab-' + t).setAttribute('aria-selected', String(t === id));
			$('tab-' + t).tabIndex = t === id ? 0 : -1;
			$('view-' + t).hidden = t !== id;
		}
		$('tools').hidden = id === 'threads' || id === 'about';
		if (id === 'flame') flame.render();
		if (id === 'methods') drawMethods();
		if (id === 'callers') drawCallers();
		if (moveFocus) $('tab-' + id).focus();
	}
	for (const id of tabs) {
		$('tab-' + id).addEventListener('click', () => openTab(id));
		$('tab-' + id).addEventListener('keydown', e => {
			const step = {ArrowRight: 1, ArrowLeft: -1}[e.key];
			if (!step) return;
			e.preventDefault();
			openTab(tabs[(tabs.indexOf(id) + step + tabs.length) % tabs.length], true);
		});
	}
	$('search').addEventListener('input', e => search(e.target.value));
	$('thread').addEventListener('change', e => chooseThread(+e.target.value));
	$('reset').addEventListener('click', () => {
		for (const f of [flame, callersFlame, calleesFlame]) if (f && f.zoomed) f.zoom(0, true);
		updateReset();
	});
	$('more').addEventListener('click', () => { shown += 400; drawMethods(); });
	document.addEventListener('keydown', e => {
		if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT)$/.test(e.target.tagName)) return;
		if ($('tools').hidden) openTab('flame');
		$('search').focus();
		e.preventDefault();
	});
	let lastWidth = 0;
	new ResizeObserver(() => {
		const w = document.body.clientWidth;
		if (w === lastWidth) return;
		lastWidth = w;
		if (current === 'flame') flame.render();
		if (current === 'callers' && callersFlame) { callersFlame.render(); calleesFlame.render(); }
	}).observe(document.body);

	const option = (value, text) => {
		const o = make('option', '', text);
		o.value = value;
		return o;
	};
	$('thread').append(option(-1, 'All threads'), ...data.threads.map((t, i) => [t, i]).filter(([t]) => t[2] > 0)
		.map(([t, i]) => option(i, (t[1] || '(no name)') + (t[0] < 0 ? '' : ' ' + t[0]) + '  ' + percent(t[2], data.samples))));
	$('legend').append(...LAYERS.map((word, i) => [word, i]).filter(([, i]) => data.layer.includes(i)).map(([word, i]) => {
		const s = make('span');
		s.append(make('span', 'dot l' + i), word);
		return s;
	}));
	if ($('static')) $('static').hidden = true;
	$('app').hidden = false;
	drawThreads();
	refresh();
	document.documentElement.dataset.ready = 'yes';
})();
