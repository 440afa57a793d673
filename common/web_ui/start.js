/* Starting a session: what is wrong, which profiler answers that, for how long. */
import * as api from './api.js';
import {link} from './api.js';
import {h, announce, choice, fill, name} from './dom.js';
import {SYMPTOMS, sentence, words} from './format.js';

const QUICK = [10, 30, 60, 300];
const low = text => text.toLowerCase();

function symptomsOf(profilers) {
	const more = profilers.flatMap(p => p.symptoms || []).filter(s => !SYMPTOMS.some(k => low(k) === low(s)));
	return [...SYMPTOMS, ...new Set(more)];
}

/* Who answers a complaint; who names it first of all comes first. */
function answers(profilers, symptom) {
	const at = p => (p.symptoms || []).findIndex(s => low(s) === low(symptom));
	return profilers.filter(p => p.available !== false && at(p) >= 0).sort((a, b) => at(a) - at(b));
}

function card(group, value, chosen, change, ...content) {
	const off = content[0] === null;
	return h(off ? 'label.option.off' : 'label.option', null, h('input', {type: 'radio', name: group, value, checked: chosen, disabled: off,
		onchange: () => change(value)}), h('span', null, content));
}

/* One control for one property of a JSON schema; its value() is undefined where the default was left. */
function setting(path, key, schema, required) {
	const id = 'f-' + path, kind = Array.isArray(schema.type) ? schema.type[0] : schema.type;
	const given = schema.default !== undefined ? schema.default : '';
	let control, value;
	if (schema.enum) {
		control = choice(key, schema.enum.map(v => [String(v), String(v)]), String(given), () => {});
		value = () => schema.enum.find(v => String(v) === control.value);
	} else if (kind === 'boolean') {
		control = h('input', {type: 'checkbox', checked: given === true});
		value = () => control.checked;
	} else if (kind === 'integer' || kind === 'number') {
		control = h('input', {type: 'number', min: schema.minimum, max: schema.maximum, step: kind === 'integer' ? 1 : 'any', value: given, inputmode: 'numeric'});
		value = () => control.value === '' ? control.validity.badInput ? NaN : undefined : Number(control.value);
	} else if (kind === 'array') {
		control = h('input', {type: 'text', placeholder: 'a, b, c', value: [given].flat().join(', ')});
		value = () => { const all = control.value.split(',').map(x => x.trim()).filter(Boolean); return all.length ? all : undefined; };
	} else {
		control = h('input', {type: 'text', maxlength: schema.maxLength, value: given});
		value = () => control.value.trim() === '' ? undefined : control.value.trim();
	}
	control.id = id;
	control.removeAttribute('aria-label');
	return made(path, control, key, schema.description, () => {
		const v = value();
		return !required && v === schema.default ? undefined : v;
	}, kind === 'boolean');
}

/* A labelled control that can show an error of the server at its place. */
function made(path, control, label, note, value, inline, extra) {
	const error = h('p.error', {id: control.id + '-error'}), said = note && h('small', {id: control.id + '-note'}, note);
	control.setAttribute('aria-describedby', [said?.id, error.id].filter(Boolean).join(' '));
	const text = h('label', {for: control.id}, label);
	return {path, control, value, element: h('div.setting', null, inline ? h('div.check', null, control, text) : [text, control], extra, said, error),
		fail(message) {
			control.setAttribute('aria-invalid', 'true');
			error.textContent = message;
		},
		clear() {
			control.removeAttribute('aria-invalid');
			error.textContent = '';
		}};
}

/* The address names a process by its pod and pid, or has a whole target of an earlier session. */
function targetOf(p) {
	if (p.target) return JSON.parse(p.target);
	const target = {};
	if (p.pod) target.podName = p.pod;
	if (p.container) target.container = p.container;
	if (p.pid) target.process = {pid: Number(p.pid)};
	return target;
}

function targetCard(p) {
	const rows = [['Process', p.entrypoint], ['Process id', p.pid], ['Pod', p.pod], ['Container', p.container],
		['Namespace', p.namespace === 'local' ? '' : p.namespace], ['Target', p.target]].filter(([, v]) => v);
	return h('dl.card.target', {'aria-label': 'Target'}, rows.map(([k, v]) => h('div', null, h('dt', null, k), h('dd', null, name(v)))));
}

class Form {
	constructor(c, profilers) {
		Object.assign(this, {c, profilers, symptom: '', profiler: null, controls: []});
		this.second = h('div');
		this.third = h('div');
		this.problem = h('div.form-error', {role: 'alert'});
		this.submit = h('button.primary', {type: 'submit'}, 'Start profiling');
		this.name = this.text('name', 'Name', 'Made up where it is left empty.');
		this.reveal = setting('spec.reveal', 'Show contents of the memory',
			{type: 'boolean', default: false, description: 'Texts that a report redacts otherwise. On a cluster this needs a right of its own.'});
		this.baseline = this.baselineSetting();
		this.usual = [this.reveal, this.baseline];
		if (c.info.mode !== 'local') {
			this.start = setting('spec.start', 'Begin', {enum: ['Now', 'NextContainerStart'], default: 'Now', description: 'NextContainerStart: with the first ' +
				'instruction of the pod\u2019s next container, as it is restarted or crashes. The session waits for it.'});
			this.usual.push(setting('spec.priority', 'Priority', {enum: ['Low', 'Normal', 'High'], default: 'Normal',
				description: 'Who is served first when the installation is busy.'}),
				setting('spec.output.store', 'Store', {type: 'string', maxLength: 63,
					description: 'Where the reports go, by the installation\u2019s name for it; “default” where it is left empty.'}));
		}
		const wanted = profilers.find(p => p.name === c.parameters.profiler);
		this.chooseSymptom(wanted ? 'profiler' : SYMPTOMS[0], wanted);
	}

	/* A finished session of the same profiler; the newest ones are offered. */
	baselineSetting() {
		const made = setting('spec.baselineSession', 'Compare with', {type: 'string', maxLength: 253,
			description: 'A finished session of the same profiler, by its name. What has changed is said with the diagnosis.'});
		this.offers = h('datalist', {id: 'baselines'});
		made.control.setAttribute('list', 'baselines');
		made.control.setAttribute('autocomplete', 'off');
		made.element.append(this.offers);
		return made;
	}

	async offerBaselines(profiler) {
		const found = await api.get('sessions', {namespace: this.c.parameters.namespace, profiler, state: 'Succeeded', limit: 20}, this.c.signal).catch(() => null);
		if (this.profiler?.name === profiler) this.offers.replaceChildren(...(found?.items || []).map(s => h('option', {value: s.name}, s.headline || '')));
	}

	text(path, label, note) {
		const control = h('input', {type: 'text', id: 'f-' + path, autocomplete: 'off', spellcheck: 'false', maxlength: 253});
		return made(path, control, label, note, () => control.value.trim() || undefined);
	}

	/* 1: what is wrong */
	first() {
		const choose = value => this.chooseSymptom(value);
		return h('fieldset', null, h('legend', null, 'What is wrong?'), h('div.options', null, symptomsOf(this.profilers).map(s => {
			const who = answers(this.profilers, s);
			const text = [h('b', null, sentence(s)), h('small', null,
				who.length ? who.map(p => p.question).join(' ') : 'Not yet: no profiler of this version answers it.')];
			return who.length ? card('symptom', s, s === this.symptom, choose, ...text) : card('symptom', s, false, choose, null, ...text);
		}), card('symptom', 'profiler', this.symptom === 'profiler', choose, h('b', null, 'I know what I want'),
			h('small', null, 'Choose a profiler by its name.'))));
	}

	chooseSymptom(symptom, wanted) {
		this.symptom = symptom;
		const found = symptom === 'profiler' ? this.profilers : answers(this.profilers, symptom);
		this.offered = found;
		this.chooseProfiler(wanted || found.find(p => p.available !== false) || null);
	}

	/* 2: which profiler */
	chooseProfiler(profiler) {
		this.profiler = profiler;
		fill(this.second, [this.symptom, this.offered.map(p => p.name)], () => h('fieldset', null, h('legend', null, 'Profiler'),
			h('div.options', null, this.offered.map(p => {
				const text = [h('b', null, p.name), h('small', null, p.available === false ? 'Not in this version. ' : '', p.question)];
				const choose = value => this.chooseProfiler(this.profilers.find(x => x.name === value));
				return p.available === false ? card('profiler', p.name, false, choose, null, ...text) : card('profiler', p.name, p === profiler, choose, ...text);
			}))));
		this.submit.disabled = !profiler;
		this.drawSettings();
	}

	/* 3: for how long, and its own settings */
	drawSettings() {
		const p = this.profiler;
		if (!p) return fill(this.third, 'none', () => []);
		fill(this.third, p.name, () => {
			const seconds = h('input', {type: 'number', id: 'f-spec.durationSeconds', min: 1, max: 3600, step: 1, inputmode: 'numeric',
				value: p.defaultDurationSeconds});
			const chips = h('div.chips', {role: 'group', 'aria-label': 'Common durations'}, QUICK.map(s => h('button.quiet.small', {type: 'button',
				onclick: () => { seconds.value = s; announce(s + ' seconds'); }}, s < 60 ? s + ' s' : s / 60 + ' min')));
			this.duration = p.defaultDurationSeconds > 0 && made('spec.durationSeconds', seconds, 'Duration in seconds', '',
				() => seconds.value === '' ? NaN : Number(seconds.value), false, chips);
			this.budget = setting('spec.pauseBudgetMilliseconds', 'Longest pause of the application, in milliseconds', {type: 'integer', minimum: 1, maximum: 60000,
				default: p.defaultPauseBudgetMilliseconds, description: 'The session ends itself when one pause would exceed it.'});
			this.own = Object.entries(p.settings?.properties || {}).map(([key, schema]) => [key,
				setting('spec.' + p.settingsField + '.' + key, schema.title || words(key.replace(/^./, x => x.toUpperCase())), schema,
					(p.settings.required || []).includes(key))]);
			const starts = this.start && p.name === 'CPUHotpaths' ? [this.start] : [];
			this.extra = [...starts, ...this.usual];
			const more = [...this.own.map(([, s]) => s), this.budget, ...this.extra, this.name];
			this.controls = [this.duration, ...more].filter(Boolean);
			this.offerBaselines(p.name);
			return [h('p.dim', {id: 'about'}, p.description, h('br'), h('b', null, 'Pauses the application: '), low(p.pauses[0]) + p.pauses.slice(1)),
				this.duration && this.duration.element,
				h('details', {id: 'more'}, h('summary', null, 'More settings'), h('div.settings', null, more.map(s => s.element)))];
		});
	}

	body() {
		const p = this.profiler, own = Object.fromEntries(this.own.map(([key, s]) => [key, s.value()]).filter(([, v]) => v !== undefined));
		const spec = {profiler: p.name, target: targetOf(this.c.parameters)}, named = this.name.value();
		if (this.duration) spec.durationSeconds = this.duration.value();
		if (Object.keys(own).length) spec[p.settingsField] = own;
		for (const s of [this.budget, ...this.extra]) {
			const value = s.value(), path = s.path.split('.').slice(1);
			if (value !== undefined) path.length > 1 ? spec[path[0]] = {[path[1]]: value} : spec[path[0]] = value;
		}
		if (spec.start && spec.start !== 'Now') { /* the process that was chosen is not the one that will start */
			delete spec.target.container;
			delete spec.target.process;
		}
		return {namespace: this.c.parameters.namespace, ...(named && {name: named}), spec};
	}

	/* The server's word stands at the field that it is about. */
	fail(problem) {
		const path = (problem.field || '').replace(/^metadata\./, '');
		const at = this.controls.find(s => s.path === path) || this.controls.find(s => path && s.path.startsWith(path));
		if (!at) {
			this.problem.replaceChildren(h('p', null, h('b', null, problem.title), ' ', problem.message));
			this.problem.scrollIntoView({block: 'nearest'});
			return;
		}
		at.fail(problem.message.replace(problem.field + ': ', ''));
		at.control.closest('details')?.setAttribute('open', '');
		at.control.focus();
		announce(problem.message);
	}

	async send() {
		this.problem.replaceChildren();
		for (const s of this.controls) s.clear();
		const wrong = this.controls.find(s => Number.isNaN(s.value()));
		if (wrong) return this.fail({field: wrong.path, message: 'Give a whole number.'});
		this.submit.disabled = true;
		this.submit.textContent = 'Starting…';
		try {
			const session = await api.send('POST', 'sessions', this.body());
			if (!this.c.signal.aborted) this.c.go('sessions', session.id);
		} catch (e) {
			if (e.status !== 401) this.fail(e);
		} finally {
			this.submit.disabled = false;
			this.submit.textContent = 'Start profiling';
		}
	}
}

export async function start(c) {
	const p = c.parameters;
	if (!p.namespace || !(p.pod || p.pid || p.target)) return c.go('processes');
	const whom = p.entrypoint || p.pod || (p.target ? 'again' : 'pid ' + p.pid);
	const form = new Form(c, await c.loadProfilers());
	if (c.signal.aborted) return;
	c.main.replaceChildren(h('div.narrow', null, h('h1', null, 'Profile ', name(whom)), targetCard(p),
		h('form', {novalidate: true, onsubmit: e => { e.preventDefault(); form.send(); }}, form.first(), form.second, form.third, form.problem,
			h('div.actions', null, h('a.quiet', {href: link('processes')}, 'Back'), form.submit))));
	c.title('Profile ' + whom);
}
