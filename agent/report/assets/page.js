'use strict';
/* What the pages of all profilers share: light and dark, tabs, tables that are sorted and searched. The page is whole without it.
 *
 *   <div class="tabs" role="tablist" data-tabs> with buttons role="tab" aria-controls="view"   shows one view at a time
 *   <table data-sort> with <th data-by="n"> (numbers: td's data-v, else its text) or data-by="t" (texts)
 *   <input type="search" data-filter="table"> and <output id="table-count">                     hides rows without the words
 * Escape empties the search in which it is pressed. */
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

	for (const list of document.querySelectorAll('[data-tabs]')) {
		const tabs = [...list.querySelectorAll('[role=tab]')];
		const show = (chosen, focus) => {
			for (const t of tabs) {
				t.setAttribute('aria-selected', String(t === chosen));
				t.tabIndex = t === chosen ? 0 : -1;
				$(t.getAttribute('aria-controls')).hidden = t !== chosen;
			}
			if (focus) chosen.focus();
		};
		tabs.forEach((t, i) => {
			t.addEventListener('click', () => show(t));
			t.addEventListener('keydown', e => {
				const step = {ArrowRight: 1, ArrowLeft: -1}[e.key];
				if (step) show(tabs[(i + step + tabs.length) % tabs.length], true);
			});
		});
		list.hidden = false;
		show(tabs[0]);
	}

	const value = (row, column, by) => {
		const cell = row.cells[column];
		return by === 'n' ? Number(cell.dataset.v ?? cell.textContent) || 0 : cell.textContent;
	};
	for (const table of document.querySelectorAll('table[data-sort]')) {
		[...table.tHead.rows[0].cells].forEach((th, column) => {
			const by = th.dataset.by;
			if (!by) return;
			const button = document.createElement('button');
			button.type = 'button';
			button.append(...th.childNodes);
			th.append(button);
			button.addEventListener('click', () => {
				const falling = th.getAttribute('aria-sort') ? th.getAttribute('aria-sort') === 'ascending' : by === 'n';
				for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
				th.setAttribute('aria-sort', falling ? 'descending' : 'ascending');
				const rows = [...table.tBodies[0].rows].map(row => [value(row, column, by), row]);
				rows.sort(([a], [b]) => (by === 'n' ? a - b : a.localeCompare(b)) * (falling ? -1 : 1));
				table.tBodies[0].append(...rows.map(([, row]) => row));
			});
		});
	}
	for (const input of document.querySelectorAll('input[data-filter]')) {
		const table = $(input.dataset.filter), count = $(input.dataset.filter + '-count');
		const filter = () => {
			const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
			let shown = 0;
			for (const row of table.tBodies[0].rows) {
				const text = row.textContent.toLowerCase();
				row.hidden = !words.every(w => text.includes(w));
				shown += !row.hidden;
			}
			if (count) count.textContent = words.length ? `${shown} of ${table.tBodies[0].rows.length}` : '';
		};
		input.addEventListener('input', filter);
		(input.closest('[hidden]') || input).hidden = false;
	}
	document.addEventListener('keydown', e => {
		if (e.key !== 'Escape' || !e.target.matches('input[type=search]')) return;
		e.target.value = '';
		e.target.dispatchEvent(new Event('input'));
		e.preventDefault();
	});
	document.documentElement.dataset.page = 'ready';
})();
