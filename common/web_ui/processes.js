/* The list of processes: by namespace, workload and pod; what can be profiled, and why not. */
import * as api from './api.js';
import {link} from './api.js';
import {h, announce, badge, button, choice, empty, failure, fill, filterBox, icon, name, skeleton} from './dom.js';
import {bytes, cpus, plural, words} from './format.js';

const SHOWN = 250; /* a large cluster has thousands; the filter finds the others */

const nameOf = p => p.entrypoint || 'pid ' + p.pid;

function matches(p, q) {
	return !q || [p.namespace, p.workload?.name, p.pod, p.node, p.container, p.entrypoint, p.runtimeVersion, p.user, String(p.pid)]
		.some(text => (text || '').toLowerCase().includes(q));
}

/* [[namespace, [[workload, [process...]]...]]...], the busiest first within its group. */
function grouped(items) {
	const out = new Map();
	const busiest = (a, b) => (b.cpuMillicores || 0) - (a.cpuMillicores || 0) || nameOf(a).localeCompare(nameOf(b)) || a.pid - b.pid;
	for (const p of [...items].sort(busiest)) {
		const space = p.namespace || '', work = p.workload ? p.workload.kind + '/' + p.workload.name : p.pod ? 'Pod/' + p.pod : '';
		if (!out.has(space)) out.set(space, new Map());
		const works = out.get(space);
		if (!works.has(work)) works.set(work, []);
		works.get(work).push(p);
	}
	return [...out].sort(([a], [b]) => a.localeCompare(b)).map(([space, works]) => [space, [...works]]);
}

/* As much of the groups as holds this many processes. */
function firstOf(groups, most) {
	const out = [];
	for (const [space, works] of groups) {
		const some = [];
		for (const [work, list] of works) {
			if (most <= 0) break;
			some.push([work, list.slice(0, most)]);
			most -= list.length;
		}
		if (some.length) out.push([space, some]);
	}
	return out;
}

/* On one machine the pid alone names the process; in a cluster it is the one inside the container. */
function startLink(p, local) {
	const where = local ? {} : {pod: p.pod, container: p.container};
	return link('start', '', {namespace: p.namespace, ...where, pid: p.pid, entrypoint: p.entrypoint});
}

const userName = user => /^\d+$/.test(user) ? 'uid ' + user : user;

function processRow(p, readOnly, local) {
	const action = p.canProfile
		? readOnly ? h('span.dim', null, 'read only')
			: h('a.quiet.tint.small', {href: startLink(p, local), 'data-key': 'start-' + p.podUID + p.pod + p.pid,
				'aria-label': 'Profile ' + nameOf(p) + (p.pod ? ' in ' + p.pod : '')}, 'Profile')
		: badge(words(p.reason || 'NotPossible'), 'warn');
	const place = [p.pod && p.workload?.kind !== 'Pod' && name(p.pod), p.container && (local ? ['container ', name(p.container)] : name(p.container)),
		!local && p.node && ['on ', name(p.node)]].filter(Boolean);
	return h('tr', {class: p.canProfile ? null : 'not'},
		h('td.what', null, h('strong', null, name(nameOf(p))), h('span.dim', null, ' pid ' + p.pid, p.user && [' · ', name(userName(p.user))]),
			place.length > 0 && h('p.place', null, place.map((x, i) => [i > 0 && ' · ', x])),
			!p.canProfile && p.message && h('p.why', null, p.message)),
		h('td', null, p.runtimeVersion ? '.NET ' + p.runtimeVersion : ''),
		h('td.n', null, cpus(p.cpuMillicores)),
		h('td.n', null, bytes(p.memoryBytes)),
		h('td.act', null, action));
}

/* {"namespace/Deployment/name": [newest session of each profiler]}, of the newest sessions that succeeded. */
async function healthOf(namespace, signal) {
	const out = new Map(), seen = new Set();
	const page = await api.get('sessions', {namespace, limit: 500}, signal);
	for (const s of page.items) {
		const key = s.namespace + '/' + s.workload, mark = key + '/' + s.profiler;
		if (!s.workload || seen.has(mark) || !['Succeeded', 'PartiallySucceeded'].includes(s.state)) continue;
		seen.add(mark);
		out.set(key, [...(out.get(key) || []), s]);
	}
	return out;
}

/* As the metrics of findings have it: it tells a state, and explains no harm. */
const harmless = f => f.id === 'Idle';

/* A badge that leads to the session whose finding weighs most; "Healthy" where the newest sessions found nothing. */
function healthBadge(sessions) {
	if (!sessions) return null;
	const found = sessions.flatMap(s => (s.findings || []).map(f => ({...f, session: s})))
		.sort((a, b) => harmless(a) - harmless(b) || (a.state === 'Possible') - (b.state === 'Possible') || b.score - a.score);
	const first = found[0], s = first ? first.session : sessions[0];
	const text = first ? words(first.id) + (found.length > 1 ? ' +' + (found.length - 1) : '') : 'Healthy';
	const title = first ? `${first.id}, score ${first.score}, ${s.profiler}: ${s.headline || ''}`
		: `Nothing was found by ${sessions.map(x => x.profiler).join(', ')}`;
	return h('a.health', {href: link('sessions', s.id), title}, badge(text, !first || harmless(first) ? 'good' : first.state === 'Possible' ? 'warn' : 'bad'));
}

function workloadCard(work, list, readOnly, local, sessions) {
	const [kind, workName] = [work.slice(0, work.indexOf('/')), work.slice(work.indexOf('/') + 1)];
	const pods = new Set(list.map(p => p.pod).filter(Boolean)).size;
	const title = work && h('h3', null, h('span.kind', null, kind), ' ', name(workName), pods > 1 && h('span.dim', null, plural(pods, 'pod')),
		healthBadge(sessions));
	return h('section.card.group', null, title, h('table.rows', null,
		h('colgroup', null, h('col'), h('col.c-runtime'), h('col.c-number'), h('col.c-number'), h('col.c-act')),
		h('thead', null, h('tr', null, ['Process', 'Runtime', 'CPU', 'Memory'].map((t, i) => h(i > 1 ? 'th.n' : 'th', {scope: 'col'}, t)),
			h('th', {scope: 'col'}, h('span.sr', null, 'Action')))),
		h('tbody', null, list.map(p => processRow(p, readOnly, local)))));
}

function warningList(warnings) {
	return warnings.length > 0 && h('ul.warnings', {'aria-label': 'Warnings'},
		warnings.map(w => h('li', null, h('strong', null, words(w.reason)), w.node && [' on ', name(w.node)], ': ', w.message)));
}

function nothing(local) {
	return local
		? empty('No .NET process runs here', 'Start one, or run this program as the user that it belongs to, or as root, to see those of others.')
		: empty('No .NET process is seen', 'Only processes of namespaces that you may profile are shown, on nodes where the agent runs.',
			h('p', null, 'See whether it runs everywhere: ', h('code', null, 'kubectl get pods -n drdotnet-system -o wide')));
}

export async function processes(c) {
	const state = {namespace: '', q: '', only: '', ...c.parameters}, local = c.info.mode === 'local';
	let answer = null, health = new Map(), most = SHOWN;
	const count = h('output', {for: 'filter'}), body = h('div', {'aria-busy': 'true'}, skeleton()), warnings = h('div');
	const spaces = h('span.slot');
	const more = button('', () => { most += 4 * SHOWN; draw(); }, {hidden: true});
	const again = button([icon('refresh'), h('span', null, 'Refresh')], () => load(true), {'aria-label': 'Refresh the list'});
	const only = h('input', {type: 'checkbox', checked: state.only === 'yes', onchange: e => change({only: e.target.checked ? 'yes' : ''})});

	function change(what) {
		const other = 'namespace' in what && what.namespace !== state.namespace;
		Object.assign(state, what);
		most = SHOWN;
		c.replaceQuery('processes', state);
		if (other) load();
		else draw();
	}
	function draw() {
		if (!answer) return;
		const q = state.q.trim().toLowerCase();
		const found = answer.items.filter(p => matches(p, q) && (!state.only || p.canProfile));
		count.textContent = plural(found.length, 'process', 'processes') + (found.length < answer.items.length ? ' of ' + answer.items.length : '');
		fill(warnings, answer.warnings, () => [warningList(answer.warnings || [])]);
		more.hidden = found.length <= most;
		more.textContent = 'Show more (' + (found.length - most) + ' left)';
		fill(body, [found, answer.items.length, most, [...health]], () => found.length
			? firstOf(grouped(found), most).map(([space, works]) => h('section.space', {'aria-label': local ? 'Processes' : 'Namespace ' + space},
				!local && h('h2', null, h('span.kind', null, 'Namespace'), ' ', name(space)),
				works.map(([work, list]) => workloadCard(work, list, c.info.readOnly, local, health.get(space + '/' + work)))))
			: [answer.items.length ? empty('Nothing matches', 'No process has these words in its name, pod, node or workload.') : nothing(local)]);
	}
	async function load(refresh) {
		again.disabled = true;
		body.setAttribute('aria-busy', 'true');
		try {
			[answer, health] = await Promise.all([
				api.get('processes', {namespace: local ? '' : state.namespace, refresh: refresh ? 'true' : ''}, c.signal),
				local ? health : healthOf(state.namespace, c.signal).catch(() => health), /* who may not list sessions sees the processes all the same */
			]);
			draw();
			if (refresh) announce('Refreshed: ' + count.textContent);
		} catch (e) {
			if (c.signal.aborted || e.status === 401) return;
			if (!answer || e.status) fill(body, [e.message, Math.random()], () => [failure(e, () => load())]);
		} finally {
			again.disabled = false;
			body.setAttribute('aria-busy', 'false');
		}
	}
	async function namespaces() {
		if (local) return;
		const items = await api.get('namespaces', null, c.signal).then(a => a.items, () => []);
		if (c.signal.aborted) return;
		spaces.replaceChildren(items.length
			? choice('Namespace', [['', 'All namespaces'], ...items], state.namespace, namespace => change({namespace}))
			: h('input', {'aria-label': 'Namespace', placeholder: 'Namespace', value: state.namespace, onchange: e => change({namespace: e.target.value.trim()})}));
	}
	c.main.replaceChildren(h('div.head', null, h('h1', null, local ? '.NET processes on this machine' : '.NET processes'), again),
		h('div.tools', {role: 'search'}, filterBox('Filter processes', state.q, q => change({q})), !local && spaces,
			h('label.check', null, only, ' Only what can be profiled'), count),
		warnings, body, h('p.centre', null, more));
	c.title('Processes');
	c.onRefresh(() => load());
	await Promise.all([load(), namespaces()]);
}
