'use strict';
/* Bars over time on a canvas: zoom by dragging, keys or Ctrl and the wheel. A bar's height is its length on a logarithmic scale; its lower part, in
 * red, is the part of it that `red` says. What is shown and which bar is chosen stand in the address.
 *
 *   {kind: 'timeline', title, label: for assistive technology, end: microseconds, start, length, red: microseconds by bar, in the order of time,
 *    cls: bar => class of its colour, say: bar => what is said of a chosen one, note: what is said before, legend: [{cls, title}]} */
(() => {
	const {make, button, roundDuration, state} = Report;
	const HIGH = 220, LEFT = 58, TOP = 16, BOTTOM = 22, LEAST = 50;

	/* Which part of the session is shown, in microseconds. */
	function viewOf(end) {
		const whole = [0, end];
		let [from, to] = whole;
		const kept = /^([\d.]+)-([\d.]+)$/.exec(state.get('zoom'));
		const v = {
			get from() { return from; },
			get to() { return to; },
			get whole() { return from === whole[0] && to === whole[1]; },
			show(a, b) {
				const span = Math.max(LEAST, Math.min(b - a, end));
				from = Math.max(0, Math.min(a, end - span));
				to = from + span;
			},
			all: () => v.show(...whole),
			zoom: (factor, around) => v.show(around - (around - from) * factor, around + (to - around) * factor),
			centre(at) {
				if (at < from || at > to) v.show(at - (to - from) / 2, at + (to - from) / 2);
			},
		};
		if (kept && kept[1] * 1e6 < kept[2] * 1e6) v.show(kept[1] * 1e6, kept[2] * 1e6);
		return v;
	}

	function coloursOf(names) {
		const probe = make('span.dot'), found = {};
		document.body.append(probe);
		for (const name of names) {
			probe.className = 'dot ' + name;
			found[name] = getComputedStyle(probe).backgroundColor;
		}
		probe.remove();
		const style = getComputedStyle(document.documentElement);
		for (const name of ['ink', 'dim', 'line', 'accent']) found[name] = style.getPropertyValue('--' + name).trim();
		return found;
	}

	/* The scales and what stands on them. */
	function drawAxes(pen, view, place, colours, longest) {
		pen.font = '11px system-ui, sans-serif';
		pen.fillStyle = colours.dim;
		pen.strokeStyle = colours.line;
		pen.textAlign = 'right';
		for (let us = 10; us <= longest * 1.0001; us *= 10) {
			const y = Math.round(place.y(us)) + .5;
			pen.beginPath();
			pen.moveTo(LEFT, y);
			pen.lineTo(place.wide, y);
			pen.stroke();
			pen.fillText(roundDuration(us), LEFT - 8, y + 3.5);
		}
		const marks = place.wide < 520 ? 2 : 4, step = (view.to - view.from) / 1e6 / marks;
		const digits = Math.min(6, Math.max(1, Math.ceil(-Math.log10(step)) + 1));
		for (let k = 0; k <= marks; k++) {
			const at = view.from + (view.to - view.from) * k / marks;
			pen.textAlign = k === 0 ? 'left' : k === marks ? 'right' : 'center';
			pen.fillText((at / 1e6).toFixed(digits) + ' s', place.x(at) - (k === marks ? 4 : 0), HIGH - 7);
		}
	}

	function drawBars(pen, section, view, place, colours, chosen) {
		const {start, length, red, cls} = section;
		pen.save();
		pen.beginPath();
		pen.rect(LEFT, 0, place.wide - LEFT, HIGH - BOTTOM);
		pen.clip();
		for (let i = 0; i < start.length; i++) {
			if (start[i] + length[i] < view.from || start[i] > view.to) continue;
			const x = place.x(start[i]), y = place.y(length[i]), high = HIGH - BOTTOM - y, low = length[i] ? high * red[i] / length[i] : 0;
			const wide = Math.max(i === chosen ? 3 : 1.5, place.x(start[i] + length[i]) - x);
			pen.fillStyle = colours[cls(i)];
			pen.fillRect(x, y, wide, high - low);
			pen.fillStyle = colours['t-red'];
			pen.fillRect(x, HIGH - BOTTOM - low, wide, low);
			if (i !== chosen) continue;
			pen.strokeStyle = colours.ink;
			pen.strokeRect(x - 2, y - 2, wide + 4, high + 2);
		}
		pen.restore();
	}

	Report.kinds.timeline = (section, host) => {
		const {start, length} = section, count = start.length;
		const view = viewOf(Math.max(section.end, start[count - 1] + length[count - 1], LEAST)), longest = length.reduce((a, b) => Math.max(a, b), 10);
		let chosen = -1, drag = null, keeping = 0, colours;
		const canvas = make('canvas.timeline'), said = make('span.detail', section.note || ''), title = make('h2', section.title);
		const whole = button('Whole session', () => { view.all(); changed(); });
		const legend = make('span.legend', section.legend.map(l => make('span', make('span.dot.' + l.cls), l.title)));
		const keys = make('span.keys');
		canvas.id = 'canvas';
		canvas.tabIndex = 0;
		canvas.setAttribute('role', 'application');
		canvas.setAttribute('aria-label', section.label + ': arrow keys choose one, plus and minus zoom');
		said.id = 'chosen';
		said.setAttribute('aria-live', 'polite');
		whole.id = 'reset';
		whole.className = 'quiet';
		for (const [names, what] of [['\u2190 \u2192', 'choose'], ['+ -', 'zoom'], ['L', 'longest'], ['Esc', 'whole session']])
			keys.append(make('span', names.split(' ').map(name => make('kbd', name)), ' ' + what));
		title.id = 'timeline-title';
		host.id = 'timeline';
		host.setAttribute('aria-labelledby', title.id);
		host.append(make('div.tools.titled', title, said, make('span.spring'), whole), canvas, make('p.hint', legend, keys));
		const pen = canvas.getContext('2d');

		const place = {
			wide: 0,
			x: us => LEFT + (us - view.from) / (view.to - view.from) * (place.wide - LEFT),
			y: us => HIGH - BOTTOM - Math.log10(1 + us) / Math.log10(1 + longest) * (HIGH - BOTTOM - TOP),
			at: x => view.from + (view.to - view.from) * Math.max(0, x - LEFT) / (place.wide - LEFT),
		};
		function draw() {
			const ratio = devicePixelRatio || 1;
			whole.disabled = view.whole;
			place.wide = canvas.clientWidth;
			if (!pen || place.wide <= LEFT) return;
			canvas.width = place.wide * ratio;
			canvas.height = HIGH * ratio;
			pen.setTransform(ratio, 0, 0, ratio, 0, 0);
			drawAxes(pen, view, place, colours, longest);
			drawBars(pen, section, view, place, colours, chosen);
			if (!drag || drag.now === drag.from) return;
			pen.globalAlpha = .2;
			pen.fillStyle = colours.accent;
			pen.fillRect(Math.min(drag.from, drag.now), 0, Math.abs(drag.now - drag.from), HIGH - BOTTOM);
			pen.globalAlpha = 1;
		}
		function recolour() {
			colours = coloursOf(['t-red', ...new Set(section.legend.map(l => l.cls))]);
			draw();
		}
		/* Into the address, when it has stood still: browsers count the changes. */
		function keep() {
			keeping = 0;
			state.set('zoom', view.whole ? '' : `${(view.from / 1e6).toFixed(6)}-${(view.to / 1e6).toFixed(6)}`);
			state.set('bar', chosen < 0 ? '' : String(chosen + 1));
		}
		function changed() {
			draw();
			if (!keeping) keeping = setTimeout(keep, 150);
		}
		function choose(i) {
			chosen = Math.min(count - 1, Math.max(0, i));
			view.centre(start[chosen]);
			said.textContent = section.say(chosen);
			changed();
		}
		function chooseAt(at) {
			let best = 0;
			const away = i => at < start[i] ? start[i] - at : Math.max(0, at - start[i] - length[i]);
			for (let i = 1; i < count; i++) if (away(i) < away(best)) best = i;
			choose(best);
		}
		function zoom(factor, around = chosen >= 0 ? start[chosen] : (view.from + view.to) / 2) {
			view.zoom(factor, around);
			changed();
		}
		const byKey = {
			ArrowRight: () => choose(chosen + 1),
			ArrowLeft: () => choose(chosen < 0 ? 0 : chosen - 1),
			Home: () => choose(0),
			End: () => choose(count - 1),
			'+': () => zoom(.5),
			'=': () => zoom(.5),
			'-': () => zoom(2),
			Escape: () => { view.all(); changed(); },
			l: () => choose(length.reduce((best, us, i) => us > length[best] ? i : best, 0)),
		};
		byKey.L = byKey.l;
		canvas.addEventListener('keydown', e => {
			if (!byKey[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
			byKey[e.key]();
			e.preventDefault();
		});
		canvas.addEventListener('pointerdown', e => {
			if (e.button) return;
			drag = {from: within(e.offsetX), now: within(e.offsetX)};
			canvas.setPointerCapture(e.pointerId);
		});
		const within = x => Math.min(place.wide, Math.max(LEFT, x));
		canvas.addEventListener('pointermove', e => {
			if (!drag) return;
			drag.now = within(e.offsetX);
			draw();
		});
		canvas.addEventListener('pointerup', e => {
			if (!drag) return;
			drag.now = within(e.offsetX);
			const [a, b] = [drag.from, drag.now].sort((x, y) => x - y);
			drag = null;
			if (b - a < 5) return chooseAt(place.at(b));
			view.show(place.at(a), place.at(b));
			changed();
		});
		canvas.addEventListener('pointercancel', () => { drag = null; draw(); });
		canvas.addEventListener('wheel', e => {
			if (!e.ctrlKey) return;
			e.preventDefault();
			zoom(e.deltaY > 0 ? 1.25 : .8, place.at(e.offsetX));
		}, {passive: false});
		document.getElementById('theme').addEventListener('click', recolour);
		matchMedia('(prefers-color-scheme:dark)').addEventListener('change', recolour);
		new ResizeObserver(draw).observe(canvas);
		const kept = Number(state.get('bar'));
		if (kept >= 1 && kept <= count) {
			chosen = Math.floor(kept) - 1;
			said.textContent = section.say(chosen);
		}
		recolour();
	};
})();
