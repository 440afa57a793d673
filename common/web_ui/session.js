/* One session: its progress while it runs; then diagnosis, report, files, cost, and why it failed. */
import * as api from './api.js';
import {link} from './api.js';
import {h, announce, badge, breakable, button, choice, confirm, copy, failure, fill, icon, name, showText, skeleton, toast} from './dom.js';
import {RUNNING, bytes, person, plural, span, together, tone, when, words, yaml} from './format.js';
import {showReport} from './report.js';

const STEPS = ['Queued', 'Preparing', 'Profiling', 'Analyzing', 'Delivering'];
const now = () => Date.now() + api.skewMs;

const condition = (s, type) => (s.status?.conditions || []).find(c => c.type === type);
const isOver = s => Boolean(s.completedAt) || condition(s, 'Completed')?.status === 'True';
const targetsOf = s => s.status?.targets || [];
const seconds = s => s.status?.effective?.durationSeconds || s.spec?.durationSeconds || 0; /* 0: it looks once */

function headline(s) {
	if (s.headline || s.status?.headline) return s.headline || s.status.headline;
	return isOver(s) ? words(s.state) : words(s.state || 'Pending') + '…';
}

/* progress --------------------------------------------------------------------------------------------------------- */

function steps(s) {
	const at = STEPS.indexOf(s.state);
	return h('ol.steps', {'aria-label': 'Progress'}, STEPS.map((step, i) => h('li', {class: i < at ? 'done' : i === at ? 'now' : null,
		'aria-current': i === at ? 'step' : null}, words(step))));
}

/* The bar of one target; tick() moves it on between the server's messages. */
function clock(s, target) {
	const bar = h('progress', {max: 1, 'aria-label': 'Time of profiling passed'}), left = h('span.time-left');
	const begin = Date.parse(target.firstSampleTime || target.startTime), all = seconds(s);
	const tick = () => {
		const passed = isNaN(begin) ? 0 : (now() - begin) / 1000;
		bar.value = Math.min(1, Math.max(0, passed / all));
		left.textContent = passed < all ? span(all - passed) + ' left' : 'about to end';
	};
	tick();
	return {element: h('div.clock', null, bar, left), tick};
}

function targetRow(s, t, ticks) {
	const row = h('li', null, h('div.line', null, h('strong', null, name(t.podName)), t.container && name(t.container),
		t.nodeName && h('span.dim', null, 'on ', name(t.nodeName)), t.runtimeVersion && h('span.dim', null, '.NET ' + t.runtimeVersion),
		badge(words(t.phase || 'Pending'), tone(t.phase || 'Pending'))));
	if (t.summary && targetsOf(s).length > 1) row.append(h('p', null, t.summary));
	if (t.message && t.phase !== 'Succeeded') row.append(h(t.phase === 'Failed' ? 'p.why' : 'p.place', null, t.message));
	if (t.phase === 'Profiling' && !isOver(s) && seconds(s) > 0) {
		const c = clock(s, t);
		ticks.push(c.tick);
		row.append(c.element);
	}
	return row;
}

/* why -------------------------------------------------------------------------------------------------------------- */

function verdict(s) {
	const told = ['Succeeded', 'Accepted'].map(t => condition(s, t)).filter(Boolean);
	const bad = told.find(c => c.status === 'False');
	if (bad) return h('div.callout.' + (tone(s.state) === 'bad' ? 'bad' : 'warn'), null, h('strong', null, words(bad.reason)), h('p', null, bad.message));
	const waits = !isOver(s) && (!targetsOf(s).length || s.state === 'Queued') && told.find(c => c.status === 'Unknown');
	return waits && h('p.dim', null, waits.message);
}

function conditions(s) {
	const all = s.status?.conditions || [];
	return all.length > 0 && h('details.card', null, h('summary', null, 'Conditions'), h('div.scroll', null, h('table', null,
		h('thead', null, h('tr', null, ['Condition', 'Status', 'Reason', 'Message', 'Since'].map(t => h('th', {scope: 'col'}, t)))),
		h('tbody', null, all.map(c => h('tr', null, h('td', null, c.type), h('td', null, c.status), h('td', null, words(c.reason)),
			h('td.text', null, c.message), h('td', null, when(c.lastTransitionTime))))))));
}

/* what came of it -------------------------------------------------------------------------------------------------- */

function diagnosis(s) {
	const lines = (s.status?.diagnosis || '').split('\n').filter(Boolean);
	const rest = lines[0] === headline(s) ? lines.slice(1) : lines;
	return rest.length > 0 && h('ul.lines', {'aria-label': 'Diagnosis'}, rest.map(l => h('li', null, together(l))));
}

/* What spec.baselineSession was asked for; a link to all of it where there is a comparison. */
function comparison(s) {
	const lines = (s.status?.comparison || '').split('\n').filter(Boolean), baseline = s.spec?.baselineSession;
	return lines.length > 0 && h('section', {'aria-labelledby': 'compared'}, h('h2', {id: 'compared'}, 'Compared with ',
		baseline ? h('a', {href: link('compare', '', {baseline: s.namespace + '.' + baseline, session: s.id})}, name(baseline)) : 'an earlier session'),
	h('ul.lines', {'aria-label': 'What has changed'}, lines.map(l => h('li', null, together(l)))));
}

const fact = (k, v, note) => h('div', null, h('dt', null, k), h('dd', null, v, note && h('small', null, ' ' + note)));

function cost(s) {
	const all = targetsOf(s).map(t => t.cost).filter(Boolean);
	if (!all.length) return null;
	const sum = key => all.reduce((n, c) => n + (c[key] || 0), 0), most = key => Math.max(...all.map(c => c[key] || 0));
	const time = us => us < 1000 ? us + ' µs' : (us / 1000).toFixed(1) + ' ms', pause = most('maxPauseMicroseconds'), wait = most('maxWaitMicroseconds');
	const samples = sum('samples'), lost = sum('droppedSamples'), collections = sum('blockingCollections');
	return [h('h2', null, 'What it cost'), h('dl.facts', {'aria-label': 'What it cost'},
		fact('Application paused', pause ? time(pause) : 'never', pause ? 'at most, by the profiler' : 'by the profiler'),
		wait > 0 && fact('A thread waited', time(wait), 'at most, for the profiler'),
		collections > 0 && fact('Blocking collections', collections.toLocaleString('en'),
			'while attached, ' + (sum('blockingCollectionMicroseconds') / 1000).toFixed(1) + ' ms'),
		fact('CPU added', sum('addedCPUMilliseconds') + ' ms', 'inside the process'),
		fact('CPU of the agent', sum('agentCPUMilliseconds') + ' ms', 'outside of it'),
		samples > 0 && fact('Samples', samples.toLocaleString('en'), lost ? lost.toLocaleString('en') + ' lost' : 'none lost'))];
}

function files(s, guard) {
	const targets = targetsOf(s).filter(t => (t.reports || []).length);
	const fileRow = (t, r) => h('li', null, button([icon('down'), h('span', null, name(r.name)), h('small', null, bytes(r.sizeBytes))],
		guard(() => api.download(api.reportPath(s.id, t.podName, r.name), t.podName + '-' + r.name)),
		{'aria-label': 'Download ' + r.name + ' of ' + t.podName, 'data-key': 'file-' + t.podName + r.name}));
	return targets.length > 0 && h('section', {'aria-labelledby': 'files'}, h('div.head', null, h('h2', {id: 'files'}, 'Files'),
		button([icon('down'), h('span', null, 'All as zip')], guard(() => api.download(api.sessionPath(s.id, '/download'), s.name + '.zip')), {'data-key': 'zip'})),
	targets.map(t => [targets.length > 1 && h('h3', null, name(t.podName)), h('ul.files', null, t.reports.map(r => fileRow(t, r)))]));
}

const page = t => (t.reports || []).find(r => (r.mediaType || '').startsWith('text/html') || r.name === 'report.html');

class Page {
	constructor(c) {
		Object.assign(this, {c, ticks: [], session: null, state: ''});
		this.top = h('div');
		this.progress = h('div');
		this.why = h('div');
		this.diagnosis = h('div');
		this.cost = h('div');
		this.report = h('section.report-place', {'aria-label': 'Report'});
		this.files = h('div');
		this.conditions = h('div');
		this.link = h('p.link', {role: 'status'});
		c.main.replaceChildren(h('article', null, this.top, this.why, this.diagnosis, this.progress, this.link, this.report, this.cost, this.files, this.conditions));
		const timer = setInterval(() => this.ticks.forEach(t => t()), 500);
		c.signal.addEventListener('abort', () => clearInterval(timer));
		this.guard = act => async () => {
			try {
				await act();
			} catch (e) {
				if (e.status !== 401) toast(e.message);
			}
		};
	}

	update(s) {
		this.session = s;
		const over = isOver(s);
		fill(this.top, [headline(s), s.state, s.requestedBy, s.trigger, over, s.completedAt, s.spec?.cancel], () => this.head(s, over));
		fill(this.why, [s.status?.conditions, s.state], () => [verdict(s)]);
		fill(this.diagnosis, [s.status?.diagnosis || '', s.status?.comparison || ''], () => [diagnosis(s), comparison(s)]);
		fill(this.progress, [targetsOf(s).map(t => [t.podName, t.phase, t.message, t.summary, t.firstSampleTime, t.startTime]), s.state, over],
			() => this.drawProgress(s, over));
		fill(this.cost, over && targetsOf(s).map(t => t.cost), () => over ? [cost(s)] : []);
		if (over) fill(this.report, targetsOf(s).map(t => [t.podName, page(t)?.sha256]), () => this.drawReport(s));
		fill(this.files, over && targetsOf(s).map(t => [t.podName, t.reports]), () => over ? [files(s, this.guard)] : []);
		fill(this.conditions, s.status?.conditions || [], () => [conditions(s)]);
		if (this.state !== s.state) {
			if (this.state) announce(words(s.state) + (over ? ': ' + headline(s) : ''));
			this.state = s.state;
			this.c.title(headline(s));
		}
	}

	head(s, over) {
		const readOnly = this.c.info.readOnly, target = s.target || '';
		const meta = [s.profiler, s.namespace !== 'local' && name(s.namespace), name(s.name), when(s.createdAt, now()),
			s.namespace !== 'local' && s.requestedBy && !s.trigger && ['by ', name(person(s.requestedBy))], s.trigger && ['trigger ', name(s.trigger)]].filter(Boolean);
		const again = s.spec?.target && link('start', '', {namespace: s.namespace, target: JSON.stringify(s.spec.target), profiler: s.profiler});
		return [h('p.eyebrow', null, meta.map((m, i) => [i > 0 && ' · ', m])),
			h('h1', null, breakable(together(headline(s)))),
			h('div.bar-line', null, h('p.sub', null, badge(words(s.state || 'Pending'), tone(s.state || 'Pending')), target && name(target),
				over && s.completedAt && s.createdAt && h('span.dim', null, 'took ' + span((Date.parse(s.completedAt) - Date.parse(s.createdAt)) / 1000))),
			h('div.actions', null,
				!over && !readOnly && button(s.spec?.cancel ? 'Ending…' : 'End now, keep the report', this.guard(() => this.cancel()),
					{id: 'cancel', 'data-key': 'cancel', disabled: Boolean(s.spec?.cancel)}, 'button.primary'),
				over && h('a.quiet', {href: link('sessions', '', {profiler: s.profiler, baseline: s.id}), id: 'compare'}, 'Compare with…'),
				over && again && !readOnly && h('a.quiet', {href: again}, 'Run again'),
				button([icon('copy'), h('span', null, 'Copy link')], () => copy(location.href, 'Link copied'), {id: 'share', 'data-key': 'share'}),
				button('As YAML', () => showText('This session as a file', yaml(s)), {id: 'yaml', 'data-key': 'yaml'}),
				!readOnly && button('Delete', this.guard(() => this.remove(over)), {id: 'delete', 'data-key': 'delete'}, 'button.quiet.danger')))];
	}

	drawProgress(s, over) {
		this.ticks = [];
		const targets = targetsOf(s);
		const list = targets.length > 0 && h('ul.targets.card', {'aria-label': 'Targets'}, targets.map(t => targetRow(s, t, this.ticks)));
		if (!over) return [steps(s), list];
		const said = condition(s, 'Succeeded')?.message || '';
		return targets.length > 1 || targets.some(t => t.phase === 'Failed' && t.message && !said.includes(t.message))
			? [h('h2', null, plural(targets.length, 'pod')), list] : [];
	}

	drawReport(s) {
		const all = targetsOf(s).filter(page);
		if (!all.length) return [];
		const host = h('div'), show = pod => {
			const t = all.find(x => x.podName === pod);
			const keep = at => this.c.replaceQuery('sessions', {...(pod !== all[0].podName && {pod}), ...(at && {at})}, this.c.id);
			const {pod: named = all[0].podName, at: state = ''} = this.c.parameters;
			showReport(host, s, pod, page(t).name, this.c.signal, {state: pod === named ? state : '', kept: keep});
		};
		const first = all.some(t => t.podName === this.c.parameters.pod) ? this.c.parameters.pod : all[0].podName;
		show(first);
		return [all.length > 1 && h('div.tools', null, choice('Report of pod', all.map(t => t.podName), first, show)), host];
	}

	async cancel() {
		const s = await api.send('POST', api.sessionPath(this.c.id, '/cancel'), {});
		announce('The session is being ended; its report is kept.');
		if (s?.spec && !isOver(this.session)) this.update(s);
	}

	async remove(over) {
		const text = over ? 'Its report and diagnosis are deleted with it. This cannot be undone.'
			: 'It still runs. It is ended first: the profiler leaves the process. No report is kept.';
		if (!await confirm('Delete this session?', text, 'Delete')) return;
		await api.send('DELETE', api.sessionPath(this.c.id));
		toast('Deleted');
		this.c.go('sessions');
	}

	connection(state) {
		this.link.textContent = state === 'waiting' ? 'The connection is interrupted; it is being taken up again…' : '';
	}

	gone(problem) {
		const text = problem.status === 404 ? 'There is no such session (any more). It may have been deleted, or its time to be kept is over.' : problem.message;
		this.c.main.replaceChildren(failure({title: problem.status === 404 ? 'Not found' : problem.title, message: text}),
			h('p.centre', null, h('a.quiet', {href: link('sessions')}, 'All sessions')));
		this.c.title('Not found');
	}
}

export async function session(c) {
	c.main.replaceChildren(skeleton());
	let first;
	try {
		first = await api.get(api.sessionPath(c.id), null, c.signal);
	} catch (e) {
		if (e.status === 404 || e.status === 403) return Page.prototype.gone.call({c}, e);
		throw e;
	}
	const page_ = new Page(c);
	c.onRefresh(() => api.get(api.sessionPath(c.id), null, c.signal).then(s => page_.update(s), () => {}));
	page_.update(first);
	if (isOver(first) && !RUNNING.includes(first.state)) return;
	api.follow(c.id, c.signal, {session: s => page_.update(s), state: state => page_.connection(state), problem: p => page_.gone(p)});
}
