/* Elements, dialogs and the few things that every view needs. Text from outside only ever becomes text nodes. */

/* Controls, separators and marks of direction, which could make a text look like another one: shown by their number. */
const HIDDEN = new RegExp([
	/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\u3164\ufeff\ufff9-\ufffb]/,
	/[\ud800-\udbff](?![\udc00-\udfff])/, /(?<![\ud800-\udbff])[\udc00-\udfff]/,
].map(r => r.source).join('|'), 'g');

export const clean = text => String(text).replace(HIDDEN, c => 'U+' + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0'));

export const $ = id => document.getElementById(id);

function put(e, name, value) {
	if (value === undefined || value === null || value === false) return;
	if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
	else if (name === 'value' || name === 'checked' || name === 'max' || name === 'disabled') e[name] = value;
	else e.setAttribute(name, value === true ? '' : clean(value));
}

/* h('a.quiet', {href: '#/x'}, 'text', node, [more], null): class names after the dots. */
export function h(what, attributes, ...children) {
	const [tag, ...classes] = what.split('.');
	const e = document.createElement(tag);
	if (classes.length) e.className = classes.join(' ');
	for (const [name, value] of Object.entries(attributes || {})) if (name !== 'value') put(e, name, value);
	add(e, children);
	if (attributes && 'value' in attributes) put(e, 'value', attributes.value); /* a select has its options by now */
	return e;
}

function add(e, children) {
	for (const child of children) {
		if (Array.isArray(child)) add(e, child);
		else if (child instanceof Node) e.append(child);
		else if (child !== null && child !== undefined && child !== false && child !== '') e.append(clean(child));
	}
}

/* A name from outside: its direction does not touch what stands beside it. */
export const name = text => h('bdi', null, breakable(text));

/* Where a long name may go on in the next line: after its dots and dashes. The text itself is unchanged. */
export const breakable = text => String(text).split(/(?<=[._/:,+-])(?=\w)/).flatMap((part, i) => i ? [document.createElement('wbr'), part] : [part]);

export function icon(kind) {
	const paths = {
		copy: 'M5.5 5.5V3a1 1 0 0 1 1-1H13a1 1 0 0 1 1 1v6.5a1 1 0 0 1-1 1h-2.5M3 5.5h6.500a1 1 0 0 1 1 1V13a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1V6.500a1 1 0 0 1 1-1z',
		down: 'M8 2v8.500M4.500 7.500 8 11l3.500-3.500M2.500 14h11',
		refresh: 'M13.500 8a5.500 5.500 0 1 1-1.600-3.900M13.500 1.500v3h-3',
		swap: 'M4.500 2 2 4.500 4.500 7M2 4.500h12M11.500 9l2.500 2.500-2.500 2.500M14 11.500H2',
	};
	const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg'), path = document.createElementNS(ns, 'path');
	svg.setAttribute('viewBox', '0 0 16 16');
	svg.setAttribute('class', 'glyph');
	svg.setAttribute('aria-hidden', 'true');
	path.setAttribute('d', paths[kind]);
	svg.append(path);
	return svg;
}

export const button = (text, act, attributes, what = 'button.quiet') => h(what, {type: 'button', onclick: act, ...attributes}, text);

/* What screen readers say; the same text again is said again. */
export function announce(text) {
	$('live').replaceChildren(h('p', null, text));
}

/* Rebuilds `host` only when `key` has changed, and keeps the focus on what has the same data-key. */
export function fill(host, key, build) {
	const text = JSON.stringify(key);
	if (host.madeOf === text) return;
	host.madeOf = text;
	const kept = host.contains(document.activeElement) && document.activeElement.closest('[data-key]')?.dataset.key;
	const made = build();
	host.replaceChildren(...[made].flat(Infinity).filter(Boolean));
	if (kept) [...host.querySelectorAll('[data-key]')].find(e => e.dataset.key === kept)?.focus({preventScroll: true});
}

/* Children of `host` for a list that changes: what stays the same stays the same element. */
export function keyed(host, items, keyOf, build) {
	const before = new Map([...host.children].map(e => [e.itemKey, e]));
	let at = host.firstElementChild;
	for (const item of items) {
		const key = keyOf(item), text = JSON.stringify(item);
		let e = before.get(key);
		if (!e || e.itemText !== text) {
			const made = build(item);
			made.itemKey = key;
			made.itemText = text;
			if (e) {
				const kept = e.contains(document.activeElement) && document.activeElement.dataset.key;
				if (at === e) at = made;
				e.replaceWith(made);
				if (kept) made.querySelector('[data-key="' + CSS.escape(kept) + '"]')?.focus({preventScroll: true});
			}
			e = made;
		}
		before.delete(key);
		if (e === at) at = at.nextElementSibling;
		else host.insertBefore(e, at);
	}
	for (const e of before.values()) if (e.isConnected) e.remove();
}

/* A question before something is done; true when it was confirmed. Esc says no. */
export function confirm(title, text, action) {
	return new Promise(answer => {
		const close = value => { dialog.returnValue = value; dialog.close(value); };
		const dialog = h('dialog', {'aria-labelledby': 'dialog-title', 'aria-describedby': 'dialog-text'},
			h('h2', {id: 'dialog-title'}, title), h('p', {id: 'dialog-text'}, text),
			h('div.actions', null, button('Keep it', () => close('no'), {autofocus: true}),
				button(action, () => close('yes'), {'data-confirm': ''}, 'button.primary.danger')));
		dialog.addEventListener('close', () => { dialog.remove(); answer(dialog.returnValue === 'yes'); });
		document.body.append(dialog);
		dialog.showModal();
	});
}

/* A text to take along. */
export function showText(title, text) {
	const dialog = h('dialog.wide', {'aria-labelledby': 'dialog-title'}, h('h2', {id: 'dialog-title'}, title),
		h('pre', {tabindex: 0}, text), h('div.actions', null, button('Close', () => dialog.close()),
			button('Copy', () => copy(text, 'Copied'), {autofocus: true}, 'button.primary')));
	dialog.addEventListener('close', () => dialog.remove());
	document.body.append(dialog);
	dialog.showModal();
}

export async function copy(text, done) {
	try {
		await navigator.clipboard.writeText(text);
	} catch { /* not a secure context, or not allowed: the old way */
		const area = h('textarea.sr', {'aria-hidden': 'true', tabindex: -1}, '');
		area.value = text;
		(document.querySelector('dialog[open]') || document.body).append(area);
		area.select();
		document.execCommand('copy');
		area.remove();
	}
	toast(done);
}

export function toast(text) {
	document.querySelector('.toast')?.remove();
	const e = h('p.toast', {'aria-hidden': 'true'}, text);
	(document.querySelector('dialog[open]') || document.body).append(e);
	setTimeout(() => e.remove(), 2500);
	announce(text);
}

export const skeleton = () => h('div.skeleton', {'aria-hidden': 'true'}, h('i'), h('i'), h('i'));

export function empty(title, ...text) {
	return h('div.empty', null, h('h2', null, title), text.map(t => t instanceof Node ? t : h('p', null, t)));
}

/* What went wrong, why, and a way on. */
export function failure(error, again) {
	return h('div.empty.bad', {role: 'alert'}, h('h2', null, error.title || 'That did not work'), h('p', null, error.message),
		again && button('Try again', again, {'data-key': 'again'}));
}

export function badge(text, tone) {
	return h('span.badge.' + tone, null, text);
}

export function field(label, control, note) {
	return h('label.field', null, h('span', null, label), control, note && h('small', null, note));
}

export function filterBox(label, value, change) {
	return h('input', {type: 'search', id: 'filter', 'aria-label': label, placeholder: label + '  /', autocomplete: 'off', spellcheck: 'false',
		maxlength: 200, value, oninput: e => change(e.target.value), onkeydown: e => {
			if (e.key !== 'Escape' || !e.target.value) return;
			e.target.value = '';
			change('');
			e.preventDefault();
		}});
}

export function choice(label, items, value, change) {
	const options = items.map(i => Array.isArray(i) ? i : [i, i]);
	if (value && !options.some(([v]) => v === value)) options.push([value, value]);
	return h('select', {'aria-label': label, value, onchange: e => change(e.target.value)},
		options.map(([v, text]) => h('option', {value: v}, text)));
}
