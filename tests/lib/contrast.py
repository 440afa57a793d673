"""Texts of a page in a real browser that stand too little out against what is behind them (WCAG 2, AA)."""
LUMINANCE = """
const luminance = text => {
	const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map(x => { x /= 255; return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; });
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = e => {
	for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c)) return c; }
	return 'rgb(255,255,255)';
};
const contrast = e => {
	const a = luminance(getComputedStyle(e).color), b = luminance(behind(e));
	return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
};
"""
PALE = """(() => {
""" + LUMINANCE + """
	const texts = 'h1, .eyebrow, .subject, .lines li, .fact .k, .fact .v, .split li, .tabs button, .detail span, .hint span, ' +
		'.flame .f:not(.thin), footer p, th, td, h2, h3, .about p, dt, dd, output';
	return [...document.querySelectorAll(texts)].filter(e => e.offsetParent && e.textContent.trim() && contrast(e) < 4.5)
		.map(e => e.textContent.slice(0, 40) + ' ' + contrast(e).toFixed(2));
})()"""
