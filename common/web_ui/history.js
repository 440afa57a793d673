/* All sessions, newest first: filtered, paged, two of them chosen to compare. */
import * as api from './api.js';
import {link} from './api.js';
import {h, badge, button, choice, empty, failure, fill, filterBox, keyed, name, skeleton} from './dom.js';
import {RUNNING, person, plural, tone, when, words} from './format.js';

const PAGE = 100, LOOK_MS = 5000, TYPING_MS = 250;
const STATES = ['Succeeded', 'PartiallySucceeded', 'Failed', 'Canceled', ...RUNNING];

class History {
	constructor(c) {
		const {baseline, ...asked} = c.parameters;
		Object.assign(this, {c, chosen: new Map(), items: [], more: '', total: 0, failed: false, turn: 0, typing: 0, poll: null});
		this.filter = {namespace: '', profiler: '', state: '', q: '', ...asked};
		if (baseline) this.chosen.set(baseline, {id: baseline, profiler: asked.profiler});
		this.count = h('output', {for: 'filter'});
		this.rows = h('tbody');
		this.table = h('div.card.scroll', {hidden: true}, h('table.rows.sessions', null, h('thead', null, h('tr', null,
			h('th', {scope: 'col'}, h('span.sr', null, 'Compare')), ['Session', 'Target', 'State', 'When'].map(t => h('th', {scope: 'col'}, t)))), this.rows));
		this.note = h('div', null, skeleton());
		this.moreButton = button('Show more', () => this.loadMore(), {hidden: true});
		this.tray = h('div.tray', {role: 'region', 'aria-label': 'Compare', hidden: true});
	}

	async controls() {
		const c = this.c, f = this.filter, local = c.info.mode === 'local';
		const set = key => value => this.change({[key]: value});
		const [spaces, profilers] = await Promise.all([local ? [] : api.get('namespaces', null, c.signal).then(a => a.items, () => []),
			c.loadProfilers().catch(() => [])]);
		return [filterBox('Filter sessions', f.q, q => this.change({q}, true)),
			!local && choice('Namespace', [['', 'All namespaces'], ...spaces], f.namespace, set('namespace')),
			choice('Profiler', [['', 'All profilers'], ...profilers.map(p => p.name)], f.profiler, set('profiler')),
			choice('State', [['', 'Any state'], ...STATES.map(s => [s, words(s)])], f.state, set('state')), this.count];
	}

	change(what, typed) {
		Object.assign(this.filter, what);
		this.c.replaceQuery('sessions', this.filter);
		clearTimeout(this.typing);
		this.typing = setTimeout(() => this.load(), typed ? TYPING_MS : 0);
	}

	/* The newest page; `again`: only what has changed since. */
	async load(again) {
		const turn = again ? this.turn : ++this.turn;
		if (!again) this.poll = api.poller();
		try {
			const answer = await this.poll('sessions', {...this.filter, limit: PAGE}, this.c.signal);
			if (turn !== this.turn || !answer) return;
			const fresh = new Set(answer.items.map(s => s.id)), rest = again && this.more ? this.items.slice(PAGE).filter(s => !fresh.has(s.id)) : [];
			this.items = [...answer.items, ...rest];
			if (!rest.length) this.more = answer.continue || '';
			this.total = answer.total ?? this.items.length;
			this.failed = false;
			this.draw();
		} catch (e) {
			if (this.c.signal.aborted || turn !== this.turn || e.status === 401 || (again && !this.failed)) return;
			this.failed = true;
			this.table.hidden = true;
			this.note.madeOf = '';
			this.note.replaceChildren(failure(e, () => this.load()));
		}
	}

	async loadMore() {
		const turn = this.turn;
		this.moreButton.disabled = true;
		try {
			const answer = await api.get('sessions', {...this.filter, limit: PAGE, continue: this.more}, this.c.signal);
			if (turn !== this.turn) return;
			const known = new Set(this.items.map(s => s.id));
			this.items.push(...answer.items.filter(s => !known.has(s.id)));
			this.more = answer.continue || '';
			this.draw();
		} catch (e) {
			if (e.status === 410 || e.status === 400) this.load(); /* that place in the list is gone */
			else if (!this.c.signal.aborted) this.count.textContent = e.message;
		} finally {
			this.moreButton.disabled = false;
		}
	}

	draw() {
		const some = this.items.length > 0, filtered = Object.values(this.filter).some(Boolean);
		this.count.textContent = some ? plural(this.total, 'session') : '';
		this.table.hidden = !some;
		keyed(this.rows, this.items, s => s.id, s => this.row(s));
		fill(this.note, [some, filtered], () => some ? [] : [filtered
			? empty('Nothing matches', 'No session has these words, this namespace, profiler and state.')
			: empty('No sessions yet', 'Pick a process and ask what is wrong with it.', h('a.primary', {href: link('processes')}, 'See the processes'))]);
		this.moreButton.hidden = !this.more;
		this.drawTray();
	}

	row(s) {
		const box = h('input', {type: 'checkbox', checked: this.chosen.has(s.id), 'data-key': 'choose', 'aria-label': 'Compare ' + s.name,
			onchange: () => this.choose(s, box)});
		return h('tr', null, h('td.pick', null, box),
			h('td.what', null, h('a', {href: link('sessions', s.id), 'data-key': 'open'}, name(s.headline || s.name)),
				h('p.place', null, s.profiler, ' · ', s.namespace !== 'local' && [name(s.namespace), ' · '], name(s.name),
					s.namespace !== 'local' && s.requestedBy && !s.trigger && [' · ', name(person(s.requestedBy))], s.trigger && [' · trigger ', name(s.trigger)])),
			h('td.target', {'data-label': 'Target'}, name(s.target)), h('td', {'data-label': 'State'}, badge(words(s.state), tone(s.state))),
			h('td.when', {'data-label': 'When'}, when(s.createdAt)));
	}

	choose(s, box) {
		if (!box.checked) this.chosen.delete(s.id);
		else this.chosen.set(s.id, s);
		if (this.chosen.size > 2) { /* the one before last goes */
			const id = [...this.chosen.keys()][1];
			this.chosen.delete(id);
			const at = this.items.findIndex(i => i.id === id);
			if (at >= 0) this.rows.children[at].querySelector('input').checked = false;
		}
		this.drawTray();
	}

	drawTray() {
		const picked = [...this.chosen.values()].map(s => this.items.find(i => i.id === s.id) || s);
		this.tray.hidden = picked.length === 0;
		fill(this.tray, picked, () => {
			if (!picked.length) return [];
			const place = s => this.items.findIndex(i => i.id === s.id); /* the list is newest first, also within a second */
			const [a, b] = [...picked].sort((x, y) => (Date.parse(x.createdAt) || 0) - (Date.parse(y.createdAt) || 0) || place(y) - place(x));
			const differ = b && a.profiler && b.profiler && a.profiler !== b.profiler;
			const text = !b ? ['Choose a second session to compare with ', name(a.name || a.id), '.']
				: differ ? 'These are of two profilers: only sessions of the same one can be compared.'
					: [name(a.name || a.id), ' and ', name(b.name || b.id)];
			return [h('p', {role: 'status'}, text), h('div.actions', null, button('Clear', () => {
				this.chosen.clear();
				for (const box of this.rows.querySelectorAll('input')) box.checked = false;
				this.drawTray();
			}), b && !differ && h('a.primary', {href: link('compare', '', {baseline: a.id, session: b.id}), id: 'compare', 'data-key': 'compare'}, 'Compare'))];
		});
	}
}

export async function history(c) {
	const list = new History(c);
	const tools = h('div.tools', {role: 'search'}, h('span.slot.wide'));
	c.main.replaceChildren(h('div.head', null, h('h1', null, 'Sessions')), tools, list.note, list.table, h('p.centre', null, list.moreButton), list.tray);
	c.title('Sessions');
	c.onRefresh(() => list.load());
	const timer = setInterval(() => { if (!document.hidden && !list.failed) list.load(true); }, LOOK_MS);
	c.signal.addEventListener('abort', () => clearInterval(timer));
	const [controls] = await Promise.all([list.controls(), list.load()]);
	if (!c.signal.aborted) tools.replaceChildren(...controls.filter(Boolean));
}
