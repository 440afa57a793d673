/* The REST API: requests with the caller's token, problems as errors, a session's events as a stream. */

const KEY = 'drdotnet-token';
let memory = '';
let lost = () => {}, refused = () => {};

export class Problem extends Error {
	constructor(status, body, title) {
		super(body?.detail || title);
		this.status = status;
		this.title = body?.title || title;
		this.reason = body?.reason;
		this.field = body?.field;
	}
}

export const token = {
	get() {
		try { return sessionStorage.getItem(KEY) || ''; } catch { return memory; }
	},
	set(value) {
		memory = value;
		try { value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY); } catch { /* this page only */ }
	},
};

/* on.lost(true|false): the server cannot be reached, or can be again; on.refused(problem): the token is not accepted. */
export function listen(on) {
	({lost, refused} = on);
}

const TITLES = {401: 'Please sign in again', 403: 'Not allowed', 404: 'Not found', 409: 'It has changed meanwhile',
	422: 'That cannot be done', 429: 'Too many requests', 503: 'Not ready'};

async function problemOf(response) {
	let body = null;
	try { body = JSON.parse(await response.text()); } catch { /* not from us: the status has to do */ }
	return new Problem(response.status, body, TITLES[response.status] || 'The server answered ' + response.status);
}

async function ask(path, how = {}) {
	const headers = {authorization: 'Bearer ' + token.get(), ...how.headers};
	let response;
	try {
		response = await fetch('api/' + path, {cache: 'no-store', redirect: 'error', credentials: 'omit', ...how, headers});
	} catch (e) {
		if (how.signal?.aborted) throw e;
		lost(true);
		throw new Problem(0, {detail: 'The server cannot be reached. It may be restarting, or the port-forward has ended.'}, 'No connection');
	}
	lost(false);
	if (response.ok || response.status === 304) return response;
	const problem = await problemOf(response);
	if (response.status === 401) refused(problem);
	throw problem;
}

export function query(path, parameters) {
	const q = new URLSearchParams(Object.entries(parameters || {}).filter(([, v]) => v !== '' && v !== undefined && v !== null));
	return q.size ? path + '?' + q : path;
}

/* The address of a view of this page. */
export const link = (view, id, parameters) => query('#/' + view + (id ? '/' + encodeURIComponent(id) : ''), parameters);

/* The server's clock minus ours, for what counts down. */
export let skewMs = 0;

export async function get(path, parameters, signal) {
	const response = await ask(query(path, parameters), {signal});
	const theirs = Date.parse(response.headers.get('date'));
	if (theirs) skewMs = Math.abs(theirs - Date.now()) < 2000 ? 0 : theirs - Date.now();
	return response.json();
}

/* A list that is asked for again and again: null while it has not changed. */
export function poller() {
	let etag = '';
	return async (path, parameters, signal) => {
		const response = await ask(query(path, parameters), {signal, headers: etag ? {'if-none-match': etag} : {}});
		if (response.status === 304) return null;
		etag = response.headers.get('etag') || '';
		return response.json();
	};
}

export async function send(method, path, body) {
	const response = await ask(path, {method, body: body && JSON.stringify(body), headers: {'content-type': 'application/json'}});
	const text = await response.text();
	return text ? JSON.parse(text) : null;
}

export const sessionPath = (id, rest = '') => 'sessions/' + encodeURIComponent(id) + rest;
export const reportPath = (id, pod, file) => sessionPath(id, '/reports/' + encodeURIComponent(pod) + '/' + encodeURIComponent(file));

export async function text(path, signal) {
	return (await ask(path, {signal})).text();
}

/* Links cannot carry the token: the file comes by fetch and is then saved. */
export async function download(path, fileName) {
	const url = URL.createObjectURL(await (await ask(path)).blob());
	const a = document.createElement('a');
	a.href = url;
	a.download = fileName;
	a.click();
	setTimeout(() => URL.revokeObjectURL(url), 60000);
}

const SILENCE_MS = 40000; /* the server says something each 15 s */

/* Reads one stream until it ends; calls on(event, data). Throws when it breaks. */
async function readEvents(path, signal, on) {
	const silent = new AbortController();
	let timer = 0;
	const heard = () => { clearTimeout(timer); timer = setTimeout(() => silent.abort(), SILENCE_MS); };
	heard();
	try {
		const response = await ask(path, {signal: AbortSignal.any([signal, silent.signal]), headers: {accept: 'text/event-stream'}});
		const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
		let rest = '', event = 'message', data = [];
		for (;;) {
			const {done, value} = await reader.read();
			if (done) return;
			heard();
			const lines = (rest + value).split('\n');
			rest = lines.pop();
			for (const raw of lines) {
				const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
				if (line === '') {
					if (data.length || event !== 'message') on(event, data.join('\n'));
					event = 'message';
					data = [];
				} else if (line.startsWith('event:')) {
					event = line.slice(6).trim();
				} else if (line.startsWith('data:')) {
					data.push(line.slice(line[5] === ' ' ? 6 : 5));
				}
			}
		}
	} finally {
		clearTimeout(timer);
	}
}

const pause = (ms, signal) => new Promise(done => {
	const timer = setTimeout(done, ms);
	signal.addEventListener('abort', () => { clearTimeout(timer); done(); }, {once: true});
	addEventListener('online', () => { clearTimeout(timer); done(); }, {once: true, signal});
});

/* Follows a session until it has ended, over any number of connections; on.state: 'live' | 'waiting' | 'ended'. */
export async function follow(id, signal, on) {
	for (let tries = 0, ended = false; !signal.aborted;) {
		try {
			await readEvents(sessionPath(id, '/events'), signal, (event, data) => {
				tries = 0;
				if (event === 'session') {
					const session = JSON.parse(data);
					ended = Boolean(session.completedAt);
					on.state('live');
					on.session(session);
				}
				if (event === 'end') ended = true;
			});
		} catch (e) {
			if (signal.aborted) return;
			if (e instanceof Problem && [401, 403, 404].includes(e.status)) return on.problem(e);
		}
		if (signal.aborted) return;
		if (ended) return on.state('ended');
		on.state('waiting');
		await pause(Math.min(15000, 500 * 2 ** tries++) * (0.75 + Math.random() / 2), signal);
	}
}
