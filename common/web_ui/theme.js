/* Before the first paint: the theme that was chosen on this page; otherwise the system's own. */
'use strict';
(() => {
	try {
		const kept = localStorage.getItem('drdotnet-theme');
		if (kept === 'dark' || kept === 'light') document.documentElement.dataset.theme = kept;
	} catch { /* no storage: the system's theme */ }
})();
