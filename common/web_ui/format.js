/* Numbers, times and YAML as people read them. Pure. */
import {clean, h} from './dom.js';

export function bytes(n) {
	if (n === undefined || n === null) return '';
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
	let i = 0;
	for (; n >= 1024 && i < 4; i++) n /= 1024;
	return (i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)) + '\u00a0' + units[i];
}

export function cpus(milli) {
	return milli === undefined || milli === null ? '' : (milli / 1000).toFixed(2) + '\u00a0CPU';
}

export function span(seconds) {
	seconds = Math.max(0, Math.round(seconds));
	if (seconds < 60) return seconds + '\u00a0s';
	if (seconds < 3600) return Math.floor(seconds / 60) + '\u00a0min' + (seconds % 60 ? ' ' + seconds % 60 + '\u00a0s' : '');
	if (seconds < 172800) return Math.floor(seconds / 3600) + '\u00a0h' + (seconds % 3600 >= 60 ? ' ' + Math.floor(seconds % 3600 / 60) + '\u00a0min' : '');
	return Math.floor(seconds / 86400) + ' days';
}

const dateTime = new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'medium'});

/* "5 min ago", the exact time on hover. */
export function when(text, now = Date.now()) {
	const at = Date.parse(text);
	if (isNaN(at)) return h('span', null, '');
	const s = (now - at) / 1000;
	const words = s < 5 ? 'just now' : s < 60 ? Math.floor(s) + ' s ago' : s < 3600 ? Math.floor(s / 60) + ' min ago'
		: s < 86400 ? Math.floor(s / 3600) + ' h ago' : s < 172800 ? 'yesterday' : Math.floor(s / 86400) + ' days ago';
	return h('time', {datetime: text, title: dateTime.format(at)}, words);
}

/* "system:serviceaccount:shop:dev" is dev of shop. */
export const person = user => String(user || '').replace(/^system:serviceaccount:([^:]+):(.+)$/, '$2 ($1)');

/* A number and its unit stay in one line. */
export const together = text => String(text).replace(/(\d) (?=s\b|ms\b|[KMG]iB\b|CPUs?\b)/g, '$1\u00a0');

export const plural = (n, one, many = one + 's') => n + ' ' + (n === 1 ? one : many);

const TONES = {Succeeded: 'good', PartiallySucceeded: 'warn', Canceled: 'dim', Failed: 'bad'};
export const RUNNING = ['Pending', 'Queued', 'Preparing', 'Profiling', 'Analyzing', 'Delivering'];
export const tone = state => TONES[state] || (RUNNING.includes(state) ? 'run' : 'bad');

/* "PartiallySucceeded" for reading: "Partially succeeded". */
export function words(reason) {
	const text = String(reason || '').replace(/([a-z0-9])([A-Z][a-z])/g, (_, a, b) => a + ' ' + b.toLowerCase());
	return text.charAt(0).toUpperCase() + text.slice(1);
}

function scalar(value) {
	if (typeof value !== 'string') return JSON.stringify(value);
	const plain = /^[A-Za-z/][\w./-]*$/.test(value) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value);
	return plain ? value : JSON.stringify(value).replace(/[\u007f-\uffff]/g, c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
}

function lines(value, indent) {
	const out = [];
	for (const [key, v] of Object.entries(value)) {
		const head = indent + scalar(key) + ':';
		if (v === null || v === undefined) continue;
		if (typeof v !== 'object') out.push(head + ' ' + scalar(v));
		else if (Array.isArray(v)) out.push(head, ...v.map(x => indent + '- ' + (typeof x === 'object' ? JSON.stringify(x) : scalar(x))));
		else if (Object.keys(v).length === 0) out.push(head + ' {}');
		else out.push(head, ...lines(v, indent + '  '));
	}
	return out;
}

/* The session as a file for kubectl and for `drdotnet run -f`. */
export function yaml(session) {
	const spec = {...session.spec};
	delete spec.cancel;
	return lines({apiVersion: 'drdotnet.dev/v1alpha1', kind: 'ProfilingSession',
		metadata: {name: session.name, namespace: session.namespace}, spec}, '').join('\n') + '\n';
}

/* "what: it is this way" -> the words of a symptom that people look for first. */
export const SYMPTOMS = ['CPU is high', 'memory is high', 'memory grows', 'it allocates a lot', 'slow once in a while', 'it hangs'];

export const sentence = text => clean(text).replace(/^[a-z]/, c => c.toUpperCase());
