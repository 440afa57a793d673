'use strict';
/* A strip of values over time in which a part can be chosen: by dragging, or with the arrow keys (with Shift: a longer part; Escape: all).
 * {id, title, values, seconds: of one value, chosen: (from, to) => void; -1, -1: all} */
Report.timeRange = ({id, title, values, seconds, chosen}) => {
	const {make, svg} = Report, n = values.length, most = Math.max(1, ...values);
	const strip = svg('svg', {viewBox: `0 0 ${n * 10} 40`, preserveAspectRatio: 'none', 'aria-hidden': 'true'});
	const mark = svg('rect', {class: 'chosen', y: 0, height: 40, width: 0});
	const bars = values.map((v, i) => svg('rect', {class: 'spark', x: i * 10 + 0.5, width: 9, y: (40 - 38 * v / most).toFixed(1),
		height: (38 * v / most).toFixed(1)}));
	const said = make('output'), clear = Report.button('All of it', () => set(-1, -1));
	const host = make('div.range', strip);
	let from = -1, to = -1, anchor = -1;
	strip.append(mark, ...bars);
	host.id = id;
	host.tabIndex = 0;
	host.setAttribute('role', 'group');
	clear.className = 'quiet';

	const second = i => (i * seconds).toFixed(n * seconds < 20 ? 1 : 0);
	function draw() {
		const a = Math.min(from, to), b = Math.max(from, to);
		mark.setAttribute('x', a < 0 ? 0 : a * 10);
		mark.setAttribute('width', a < 0 ? 0 : (b - a + 1) * 10);
		bars.forEach((bar, i) => bar.classList.toggle('out', a >= 0 && (i < a || i > b)));
		said.textContent = a < 0 ? 'Drag over a part to see it alone' : `${second(a)} to ${second(b + 1)} s`;
		said.classList.toggle('unprinted', a < 0);
		clear.hidden = a < 0;
		host.setAttribute('aria-label', `${title}: ${a < 0 ? 'all of it' : said.textContent + ' of it'}; arrow keys choose a part`);
	}
	function set(a, b, quiet) {
		[from, to] = [a, b];
		draw();
		if (!quiet) chosen(Math.min(a, b), Math.max(a, b));
	}
	const place = e => {
		const box = strip.getBoundingClientRect();
		return Math.min(n - 1, Math.max(0, Math.floor(n * (e.clientX - box.left) / (box.width || 1))));
	};
	strip.addEventListener('pointerdown', e => {
		anchor = place(e);
		strip.setPointerCapture?.(e.pointerId);
		set(anchor, anchor, true);
		e.preventDefault();
		host.focus({preventScroll: true});
	});
	strip.addEventListener('pointermove', e => { if (anchor >= 0) set(anchor, place(e), true); });
	strip.addEventListener('pointerup', e => {
		if (anchor >= 0) set(anchor, place(e));
		anchor = -1;
	});
	strip.addEventListener('pointercancel', () => { anchor = -1; set(-1, -1); });
	host.addEventListener('keydown', e => {
		const step = {ArrowLeft: -1, ArrowRight: 1}[e.key], within = i => Math.min(n - 1, Math.max(0, i));
		if (e.key === 'Escape') set(-1, -1);
		else if (!step) return;
		else if (from < 0) set(step > 0 ? 0 : n - 1, step > 0 ? 0 : n - 1);
		else if (e.shiftKey) set(from, within(to + step));
		else set(within(to + step), within(to + step));
		e.preventDefault();
	});
	draw();
	return {node: make('div.over-time', make('span.k', title), host, said, clear), set: (a, b) => set(a, b, true)};
};
