'use strict';
/* A flame graph against that of another report: frames are coloured by the change of their share, and frames that are gone are listed. The other report
 * is a file of the reader's (report.json or report.html), which stays in the browser. */
Report.flameDiff = ({r, methods, base, tree, isAll, percent}) => {
	const {make, button, stacks} = Report;
	const LISTED = 40, LEAST = 0.1; /* points */
	const list = Object.assign(make('div.gone'), {id: 'gone', hidden: true});
	let other = null, found = null; /* {name, base, folded, methods}; {of: tree, before, all} */

	async function reportOf(text) {
		const page = /<script type="text\/plain" id="data">([^<]*)<\/script>/.exec(text);
		return page ? Report.unpack(page[1]) : JSON.parse(text);
	}
	function check(x) {
		const n = x.tree.parent.length;
		const whole = (list, least, end) => list.length === n && list.every((v, i) => Number.isInteger(v) && (i === 0 || (v >= least && v < end(i))));
		if (!n || !whole(x.tree.parent, 0, i => i) || !whole(x.tree.method, 0, () => x.methods.length)
			|| !whole(x.tree.self, 0, () => Infinity)) throw new Error('tree');
		if (!x.methods.every(m => typeof m.name === 'string' && typeof m.layer === 'string')) throw new Error('methods');
	}
	/* Its tree with our numbers of methods; those that we do not have come behind ours. */
	function take(x, name) {
		const key = m => m.name + '\0' + m.module, known = new Map(methods.map((m, i) => [key(m), i])), every = [...methods];
		const ids = x.methods.map(m => known.get(key(m)) ?? every.push(m) - 1);
		const t = stacks.weigh(stacks.makeTree(x.tree.parent, x.tree.method.map(m => m < 0 ? m : ids[m])), x.tree.self);
		const folded = stacks.foldTree(t, m => every[m].layer, (m, above, below) => stacks.isPlumbing(every[m], above, below));
		return {name, when: x.time?.startedAt || '', base: t, folded, methods: every};
	}
	async function open(file) {
		const refused = `${file.name} is not a report: choose the report.json or report.html of a ${r.profiler} session.`;
		let x;
		try {
			x = await reportOf(await file.text());
			if (!String(x.schema).startsWith('drdotnet.dev/report/')) throw new Error('schema');
		} catch { throw new Error(refused); }
		if (x.profiler !== r.profiler) throw new Error(`${file.name} is a report of ${x.profiler}, and this is one of ${r.profiler}: ` +
			'only reports of the same profiler can be compared.');
		try {
			check(x);
			return take(x, file.name);
		} catch { throw new Error(refused); }
	}

	/* what changed ----------------------------------------------------------------------------------------------- */

	function match() {
		list.hidden = !other;
		if (!other) return (found = null);
		const now = tree(), then = isAll() ? other.base : other.folded, {before, gone} = stacks.compare(now, then);
		found = {of: now, before, all: then.total[0]};
		const share = i => 100 * then.total[i] / (found.all || 1), name = i => other.methods[then.method[i]]?.name || (i ? 'folded frames' : 'all');
		const rows = gone.filter(i => share(i) >= LEAST);
		list.replaceChildren(make('h3', `Gone since ${other.name}`), rows.length ? make('ul', rows.slice(0, LISTED).map(i => make('li',
			make('b', percent(then.total[i], found.all)), ' ' + name(i), make('span.under', ' under ' + name(then.parent[i])))),
		rows.length > LISTED ? make('li', `and ${Report.count(rows.length - LISTED)} more`) : null)
			: make('p.hint', `No frame with ${LEAST}% or more of it is missing here.`));
		return found;
	}
	const points = (t, n) => 100 * t.total[n] / (t.total[0] || 1) - 100 * found.before[n] / (found.all || 1);
	function style(t, n) {
		if (!found || found.of !== t || !n) return '';
		const change = points(t, n), size = Math.abs(change);
		const step = size < 0.1 ? 0 : size < 1 ? 1 : size < 3 ? 2 : size < 10 ? 3 : 4;
		return step ? (change > 0 ? 'more' : 'less') + step : 'same';
	}
	function words(t, n) {
		if (!found || found.of !== t || !n) return [];
		const change = points(t, n), sign = change > 0.05 ? '+ ' : change < -0.05 ? '\u2212 ' : '';
		return [make('span', make('b', percent(found.before[n], found.all)), ' before, ', make('b', sign + Math.abs(change).toFixed(1)), ' points')];
	}

	/* the button -------------------------------------------------------------------------------------------------- */

	function control(changed) {
		const input = Object.assign(make('input'), {type: 'file', accept: '.json,.html', hidden: true, id: 'compare-file'});
		const said = Object.assign(make('output'), {id: 'compared'}), choose = button('Compare with\u2026', () => {
			if (!other) return input.click();
			other = null;
			refresh('');
		});
		choose.id = 'compare';
		choose.className = 'quiet';
		choose.title = 'Choose the report.json or report.html of another session. It is read here and sent nowhere.';
		said.setAttribute('aria-live', 'polite');
		function refresh(text) {
			choose.textContent = other ? 'Stop comparing' : 'Compare with\u2026';
			said.textContent = text;
			changed();
		}
		input.addEventListener('change', async () => {
			const file = input.files[0];
			if (!file) return;
			try {
				other = await open(file);
				refresh(`Red frames have a larger share than in ${other.name}, blue ones a smaller share`);
			} catch (e) {
				said.textContent = e.message;
			}
			input.value = '';
		});
		return make('span.compare', said, choose, input);
	}
	return {control, match, style, words, list};
};
