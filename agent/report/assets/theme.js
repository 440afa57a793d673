'use strict';
/* Light and dark, and two keys: "/" goes to the search of what is shown, Escape empties the search in which it is pressed. */
(() => {
	const $ = id => document.getElementById(id);

	function themeNow() {
		return document.documentElement.dataset.theme || (matchMedia('(prefers-color-scheme:dark)').matches ? 'dark' : 'light');
	}
	function setTheme(theme) {
		document.documentElement.dataset.theme = theme;
		$('theme').textContent = theme === 'dark' ? 'Light' : 'Dark';
		try { localStorage.setItem('drdotnet-theme', theme); } catch { /* a sandboxed page has no storage */ }
	}
	try {
		const kept = localStorage.getItem('drdotnet-theme');
		if (kept === 'dark' || kept === 'light') document.documentElement.dataset.theme = kept;
	} catch { /* as above */ }
	$('theme').textContent = themeNow() === 'dark' ? 'Light' : 'Dark';
	$('theme').addEventListener('click', () => setTheme(themeNow() === 'dark' ? 'light' : 'dark'));
	$('theme').hidden = false;

	document.addEventListener('keydown', e => {
		if (e.key !== 'Escape' || !e.target.matches('input[type=search]')) return;
		e.target.value = '';
		e.target.dispatchEvent(new Event('input'));
		e.preventDefault();
	});
	document.addEventListener('keydown', e => {
		if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT)$/.test(e.target.tagName)) return;
		const input = [...document.querySelectorAll('input[type=search]')].find(i => i.offsetParent);
		if (!input) return;
		input.focus();
		e.preventDefault();
	});
})();
