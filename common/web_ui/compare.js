/* Two sessions of one profiler: what has changed, in a sentence and a table. */
import * as api from './api.js';
import {link} from './api.js';
import {h, badge, breakable, empty, failure, fill, filterBox, icon, name, skeleton} from './dom.js';
import {plural, together, when, words} from './format.js';

const SHOWN = 200;

/* Bytes in the units that the reports and the sentences above the table have. */
function decimal(n) {
	const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
	let i = 0;
	for (; Math.abs(n) >= 999.5 && i < 4; i++) n /= 1000;
	return n.toFixed(i === 0 || Math.abs(n) >= 99.5 ? 0 : 1) + '\u00a0' + units[i];
}

function number(value, unit) {
	if (value === null || value === undefined) return '–';
	if (unit === 'µs' && value >= 1000) return number(value / 1000, 'ms');
	if (/^B(\/|$)/.test(unit)) return decimal(value) + unit.slice(1); /* B, B/s, B/min */
	const size = Math.abs(value), digits = size >= 100 || Number.isInteger(value) && unit !== '%' ? 0 : size >= 10 ? 1 : 2;
	return value.toLocaleString('en', {minimumFractionDigits: digits, maximumFractionDigits: digits}) + (!unit ? '' : unit === '%' ? '%' : '\u00a0' + unit);
}

function bar(real, delta, most) {
	const fillOf = h('i', {class: (delta > 0 ? 'right ' : 'left ') + (!real ? 'noise' : delta > 0 ? 'more' : 'less')});
	fillOf.style.width = (most ? 50 * Math.min(1, Math.abs(delta) / most) : 0).toFixed(1) + '%';
	return h('div.delta', {'aria-hidden': 'true'}, fillOf);
}

/* A change that is no more than noise is not dressed up as one. */
function row(r, most) {
	const real = r.change !== 'same', tone = !real ? 'dim' : r.delta > 0 ? 'more' : r.delta < 0 ? 'less' : '';
	const sign = r.delta > 0 ? '+' : r.delta < 0 ? '−' : '±';
	return h('tr', null, h('td.what', null, name(r.name), (r.change === 'new' || r.change === 'vanished') && [' ', badge(words(r.change), 'dim')]),
		h('td.n', {'data-label': 'Before'}, number(r.before, r.unit)), h('td.n', {'data-label': 'After'}, number(r.after, r.unit)),
		h('td.n', {'data-label': 'Change'}, h('span', {class: tone || null, title: real ? null : 'No more than noise'},
			sign + number(Math.abs(r.delta || 0), r.unit === '%' ? 'pp' : r.unit))),
		h('td.bar', null, bar(real, r.delta || 0, most)));
}

function side(label, s, id) {
	return h('div.card.side', null, h('p.eyebrow', null, label), h('p', null, h('a', {href: link('sessions', id)}, name(s?.headline || s?.name || id))),
		s && h('p.dim', null, name(s.name), ' · ', name(s.target || ''), ' · ', when(s.createdAt)));
}

export async function compare(c) {
	const {baseline, session} = c.parameters;
	if (!baseline || !session) return c.go('sessions');
	c.main.replaceChildren(skeleton());
	const one = id => api.get(api.sessionPath(id), null, c.signal).catch(() => null);
	const [diff, before, after] = await Promise.all([api.get('diff', c.parameters, c.signal).catch(e => e), one(baseline), one(session)]);
	if (c.signal.aborted || diff.status === 401) return;
	const head = [h('div.head', null, h('h1', null, breakable(diff instanceof Error ? 'Compare' : together(diff.headline || 'What has changed'))),
		h('a.quiet', {href: link('compare', '', {baseline: session, session: baseline}), id: 'swap'}, icon('swap'), h('span', null, 'Swap'))),
	h('div.sides', null, side('Before', before, baseline), side('After', after, session))];
	c.title('Compare');
	if (diff instanceof Error) return c.main.replaceChildren(...head, failure(diff, () => compare(c)));
	const rows = [...diff.rows || []].sort((a, b) => (a.change === 'same') - (b.change === 'same')); /* within that: the server's order */
	const most = new Map();
	for (const r of rows) most.set(r.unit, Math.max(most.get(r.unit) || 0, Math.abs(r.delta || 0)));
	const lines = (diff.diagnosis || '').split('\n').filter(l => l && l !== diff.headline);
	const body = h('tbody'), count = h('output', {for: 'filter'}), none = h('div');
	const table = h('div.card.scroll', null, h('table.rows.diff', null, h('thead', null, h('tr', null,
		h('th', {scope: 'col'}, 'Name'), ['Before', 'After', 'Change'].map(t => h('th.n', {scope: 'col'}, t)),
			h('th', {scope: 'col'}, h('span.sr', null, 'Change as a bar')))), body));
	const draw = q => {
		const found = rows.filter(r => !q || r.name.toLowerCase().includes(q.trim().toLowerCase()));
		count.textContent = plural(found.length, 'row') + (found.length > SHOWN ? ', the ' + SHOWN + ' first are shown' : '');
		body.replaceChildren(...found.slice(0, SHOWN).map(r => row(r, most.get(r.unit))));
		table.hidden = !found.length;
		fill(none, [found.length > 0, rows.length], () => found.length ? [] :
			[rows.length ? empty('Nothing matches', 'No row has these words.') : empty('No difference', 'Both sessions say the same.')]);
	};
	draw('');
	c.main.replaceChildren(...head, h('ul.lines', {'aria-label': 'What has changed'}, lines.map(l => h('li', null, together(l)))),
		h('div.tools', {role: 'search'}, filterBox('Filter rows', '', draw), count), table, none);
	c.title('Compare');
}
