'use strict';
/* One flame graph. Frames that are wide enough to be read or hit are elements; the narrow ones are painted, so that a graph of any size is drawn at once.
 *
 * view: what the owner says of a tree's node: {name, brief, label, style: class of its colour, mark: small text behind the name or '', hit: found by the
 * search; describe: shows it beside the graph; choose: double click, or C; zoomed: after each zoom} */
Report.FlameGraph = class {
	static LEAST = 3;      /* pixels of an element */
	static MOST = 2500;    /* elements; what is beyond is painted */
	static PAINTED = 0.5;  /* narrower neighbours are painted as one */

	constructor(host, label, up, view) {
		Object.assign(this, {host, up, view, zoomed: 0, current: 0, elements: new Map(), thin: []});
		this.canvas = host.appendChild(document.createElement('canvas'));
		this.canvas.setAttribute('aria-hidden', 'true');
		this.frames = host.appendChild(Report.make('div.frames'));
		this.frames.setAttribute('role', 'tree');
		this.frames.setAttribute('aria-label', label);
		host.addEventListener('click', e => { const n = this.nodeAt(e); if (n >= 0) this.zoom(n); });
		host.addEventListener('dblclick', e => { const n = this.nodeAt(e); if (n > 0) view.choose(this.tree, n); });
		host.addEventListener('mousemove', e => { const n = this.nodeAt(e); if (n >= 0 && n !== this.shown) view.describe(this.tree, this.shown = n); });
		host.addEventListener('mouseleave', () => view.describe(this.tree, this.shown = this.current));
		host.addEventListener('focusin', e => { const n = this.nodeAt(e); if (n >= 0) view.describe(this.tree, this.current = this.shown = n); });
		host.addEventListener('keydown', e => this.key(e));
		new MutationObserver(() => this.paint()).observe(document.documentElement, {attributeFilter: ['data-theme']});
		matchMedia('(prefers-color-scheme:dark)').addEventListener('change', () => this.paint());
	}

	/* `zoomed`: where to stand in it. */
	setTree(tree, zoomed = 0) {
		this.tree = tree;
		this.zoomed = this.current = zoomed < tree.parent.length && tree.total[zoomed] ? zoomed : 0;
		this.render();
	}
	/* Draws again where the room has changed. */
	fit() {
		if (this.width !== this.frames.clientWidth) this.render();
	}
	zoom(n, keepFocus) {
		this.zoomed = this.current = n;
		this.render();
		if (!keepFocus) this.focusOn(n);
		this.view.zoomed(n);
	}
	nodeAt(e) {
		const f = e.target.closest?.('.f');
		if (f) return +f.dataset.n;
		if (e.clientX === undefined) return -1;
		const box = this.frames.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top;
		return this.thin.find(b => y >= b.y && y < b.y + this.row && x >= b.x && x < b.x + Math.max(b.w, 1))?.n ?? -1;
	}
	focusOn(n) {
		const f = this.elements.get(n);
		if (!f) return;
		for (const other of this.frames.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
		f.tabIndex = 0;
		f.focus({preventScroll: false});
	}

	/* keys ------------------------------------------------------------------------------------------------------- */

	beside(n, step) {
		const t = this.tree, all = [];
		for (let c = t.first[t.parent[n]]; c >= 0; c = t.next[c]) if (this.elements.has(c)) all.push(c);
		return all[all.indexOf(n) + step] ?? n;
	}
	inward(n) {
		const t = this.tree;
		let to = t.first[n];
		while (to >= 0 && !t.total[to]) to = t.next[to];
		if (to >= 0 && !this.elements.has(to)) this.zoom(n);
		return to;
	}
	outOfZoom() {
		if (this.zoomed) this.zoom(this.tree.parent[this.zoomed]);
		return this.zoomed;
	}
	key(e) {
		const n = this.nodeAt(e), t = this.tree;
		if (n < 0 || e.ctrlKey || e.metaKey || e.altKey) return;
		const acts = {
			[this.up ? 'ArrowUp' : 'ArrowDown']: () => this.inward(n),
			[this.up ? 'ArrowDown' : 'ArrowUp']: () => t.parent[n],
			ArrowLeft: () => n ? this.beside(n, -1) : n,
			ArrowRight: () => n ? this.beside(n, 1) : n,
			Home: () => this.zoomed,
			Enter: () => { this.zoom(n); return n; },
			' ': () => { this.zoom(n); return n; },
			Escape: () => this.outOfZoom(),
			Backspace: () => this.outOfZoom(),
			c: () => { this.view.choose(t, n); return -1; },
		};
		const act = acts[e.key === 'C' ? 'c' : e.key];
		if (!act) return;
		e.preventDefault();
		const to = act();
		if (to >= 0) this.focusOn(to);
	}

	/* drawing ---------------------------------------------------------------------------------------------------- */

	/* All frames as {n, level, x, w, above}, those that are too narrow for the eye joined with their neighbours. */
	boxes(width) {
		const t = this.tree, scale = t.total[this.zoomed] ? width / t.total[this.zoomed] : 0, out = [], path = [];
		for (let a = this.zoomed; a >= 0; a = t.parent[a]) path.unshift(a);
		path.forEach((n, level) => out.push({n, level, x: 0, w: width, above: n !== this.zoomed}));
		const stack = [out[out.length - 1]];
		while (stack.length) {
			const from = stack.pop();
			let x = from.x, run = null;
			for (let c = t.first[from.n]; c >= 0; c = t.next[c]) {
				const w = t.total[c] * scale;
				if (!w) continue;
				if (w >= this.constructor.PAINTED) {
					const box = {n: c, level: from.level + 1, x, w, above: false};
					out.push(box);
					stack.push(box);
				} else if (run && run.w < 1) {
					run.w += w;
				} else {
					out.push(run = {n: c, level: from.level + 1, x, w, above: false});
				}
				x += w;
			}
		}
		return out;
	}
	render() {
		const width = this.frames.clientWidth || 1000, {LEAST, MOST} = this.constructor;
		this.row = matchMedia('(max-width:640px)').matches ? 25 : 21;
		const boxes = this.boxes(width), wide = boxes.filter(b => b.w >= LEAST);
		let least = LEAST, deepest = 0;
		if (wide.length > MOST) least = Math.max(LEAST, wide.map(b => b.w).sort((a, b) => b - a)[MOST]);
		for (const b of boxes) if (b.level > deepest) deepest = b.level;
		for (const b of boxes) b.y = (this.up ? deepest - b.level : b.level) * this.row;
		this.thin = boxes.filter(b => b.w < least);
		this.width = width;
		this.height = (deepest + 1) * this.row;
		this.elements = new Map();
		const nodes = wide.filter(b => b.w >= least).sort((a, b) => a.level - b.level || a.x - b.x).map(b => this.element(b));
		this.frames.style.height = this.height + 'px';
		this.frames.replaceChildren(...nodes);
		this.host.classList.toggle('searching', this.view.searching());
		this.paint();
		this.view.describe(this.tree, this.shown = this.current);
	}
	element(b) {
		const t = this.tree, f = document.createElement('div'), view = this.view;
		f.className = 'f ' + view.style(t, b.n) + (b.w < 24 ? ' thin' : '') + (b.above ? ' above' : '') + (view.hit(t, b.n) ? ' hit' : '');
		f.style.left = b.x + 'px';
		f.style.width = Math.max(b.w - 0.5, 0.6) + 'px';
		f.style.top = b.y + 'px';
		f.dataset.n = b.n;
		f.tabIndex = b.n === this.zoomed ? 0 : -1;
		f.setAttribute('role', 'treeitem');
		f.setAttribute('aria-level', b.level + 1);
		f.setAttribute('aria-label', view.label(t, b.n));
		if (b.w >= 24) {
			f.textContent = b.w < 220 ? view.brief(t, b.n) : view.name(t, b.n);
			if (b.w > 90 && view.mark(t, b.n)) f.append(' ', Report.make('i', view.mark(t, b.n)));
		}
		this.elements.set(b.n, f);
		return f;
	}
	/* The colour of a class, as the style sheet has it now. */
	colours() {
		const known = new Map(), probe = this.host.appendChild(document.createElement('div'));
		return {
			of: style => {
				if (!known.has(style)) {
					probe.className = 'f ' + style;
					known.set(style, getComputedStyle(probe).backgroundColor);
				}
				return known.get(style);
			},
			end: () => probe.remove(),
		};
	}
	paint() {
		if (!this.tree) return;
		const sharp = Math.min(devicePixelRatio || 1, 16000 / this.height), canvas = this.canvas, colours = this.colours();
		canvas.width = Math.round(this.width * sharp);
		canvas.height = Math.round(this.height * sharp);
		canvas.style.width = this.width + 'px';
		canvas.style.height = this.height + 'px';
		const pen = canvas.getContext('2d'), searching = this.view.searching();
		pen.scale(sharp, sharp);
		for (const b of this.thin) {
			pen.globalAlpha = searching && !this.view.hit(this.tree, b.n) ? 0.34 : 1;
			pen.fillStyle = colours.of(this.view.style(this.tree, b.n));
			pen.fillRect(b.x, b.y, b.w, this.row - 1);
		}
		colours.end();
	}
};
