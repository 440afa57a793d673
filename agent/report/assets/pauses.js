'use strict';
/* The timeline of pauses: one bar a pause, its height the length on a logarithmic scale; the red part is the time until all threads had
 * stopped. The page says the same without it. */
(() => {
	const $ = id => document.getElementById(id);
	const data = JSON.parse($('data').textContent);
	const canvas = $('canvas'), pen = canvas.getContext('2d'), count = data.start.length;
	if (!pen || !count) return;
	const whole = [0, Math.max(data.duration, data.start[count - 1] + 1)];
	let [from, to] = whole, chosen = -1;
	const length = i => data.suspending[i] + data.stopped[i];
	const longest = Math.max(10, ...Array.from({length: count}, (_, i) => length(i)));

	const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	const colours = {blocking: '--l0', background: '--l1', other: '--l2'};
	const time = us => us < 1000 ? `${us} us` : us < 1e6 ? `${(us / 1000).toPrecision(3)} ms` : `${(us / 1e6).toPrecision(3)} s`;
	const height = us => Math.log10(1 + us) / Math.log10(1 + longest);

	function draw() {
		const wide = canvas.clientWidth, high = 220, ratio = devicePixelRatio || 1;
		canvas.width = wide * ratio;
		canvas.height = high * ratio;
		pen.setTransform(ratio, 0, 0, ratio, 0, 0);
		pen.clearRect(0, 0, wide, high);
		pen.font = '11px system-ui, sans-serif';
		pen.fillStyle = style('--dim');
		pen.strokeStyle = style('--line');
		for (let us = 10; us <= longest; us *= 10) {
			const y = high - 18 - height(us) * (high - 34);
			pen.beginPath();
			pen.moveTo(0, y);
			pen.lineTo(wide, y);
			pen.stroke();
			pen.fillText(time(us), 6, y - 3);
		}
		for (let k = 0; k <= 4; k++) {
			const at = from + (to - from) * k / 4, text = `${(at / 1e6).toFixed(to - from < 4e6 ? 3 : 1)} s`;
			const x = wide * k / 4;
			pen.fillText(text, k === 4 ? x - pen.measureText(text).width - 4 : x + (k ? -12 : 4), high - 4);
		}
		for (let i = 0; i < count; i++) {
			const begin = data.start[i], end = begin + length(i);
			if (end < from || begin > to) continue;
			const x = (begin - from) / (to - from) * wide, w = Math.max(i === chosen ? 3 : 1.5, length(i) / (to - from) * wide);
			const h = height(length(i)) * (high - 34), red = length(i) ? h * data.suspending[i] / length(i) : 0;
			pen.fillStyle = style(colours[data.classes[data.kind[i]]]);
			pen.fillRect(x, high - 18 - h, w, h);
			pen.fillStyle = style('--hit');
			pen.fillRect(x, high - 18 - red, w, red);
			if (i === chosen) {
				pen.strokeStyle = style('--ink');
				pen.strokeRect(x - 2, high - 20 - h, w + 4, h + 4);
			}
		}
		$('reset').disabled = from === whole[0] && to === whole[1];
	}
	function choose(i) {
		chosen = Math.min(count - 1, Math.max(0, i));
		const at = data.start[chosen];
		if (at < from || at > to) {
			const half = (to - from) / 2;
			show(at - half, at + half);
		}
		$('chosen').textContent = `${data.kinds[data.kind[chosen]]} at ${(at / 1e6).toFixed(3)} s: ${time(length(chosen))}, of it ` +
			`${time(data.suspending[chosen])} until all threads had stopped`;
		draw();
	}
	function show(a, b) {
		const span = Math.max(50, Math.min(b - a, whole[1]));
		from = Math.max(0, Math.min(a, whole[1] - span));
		to = from + span;
		draw();
	}
	function zoom(factor, around) {
		show(around - (around - from) * factor, around + (to - around) * factor);
	}
	const middle = () => chosen >= 0 ? data.start[chosen] : (from + to) / 2;
	const keys = {
		ArrowRight: () => choose(chosen + 1),
		ArrowLeft: () => choose(chosen < 0 ? 0 : chosen - 1),
		Home: () => choose(0),
		End: () => choose(count - 1),
		'+': () => zoom(.5, middle()),
		'=': () => zoom(.5, middle()),
		'-': () => zoom(2, middle()),
		Escape: () => show(...whole),
		l: () => {
			let best = 0;
			for (let i = 1; i < count; i++) if (length(i) > length(best)) best = i;
			choose(best);
		},
	};
	keys.L = keys.l;
	canvas.addEventListener('keydown', e => {
		if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
		keys[e.key]();
		e.preventDefault();
	});
	canvas.addEventListener('click', e => {
		const at = from + (to - from) * e.offsetX / canvas.clientWidth;
		let best = 0;
		for (let i = 1; i < count; i++)
			if (Math.abs(data.start[i] + length(i) / 2 - at) < Math.abs(data.start[best] + length(best) / 2 - at)) best = i;
		choose(best);
	});
	canvas.addEventListener('wheel', e => {
		if (!e.ctrlKey) return;
		e.preventDefault();
		zoom(e.deltaY > 0 ? 1.25 : .8, from + (to - from) * e.offsetX / canvas.clientWidth);
	}, {passive: false});
	$('reset').addEventListener('click', () => show(...whole));
	$('theme').addEventListener('click', draw);
	addEventListener('resize', draw);

	for (const [name, title] of [['blocking', 'blocking collection'], ['background', 'background collection'], ['other', 'other'],
		['suspending', 'until all threads had stopped']]) {
		const item = document.createElement('span'), dot = document.createElement('span');
		dot.className = `dot p-${name}`;
		item.append(dot, title);
		$('legend').append(item);
	}
	if (data.omitted) $('chosen').textContent = `The ${count} longest pauses`;
	$('timeline-static').hidden = true;
	$('timeline').hidden = false;
	draw();
})();
