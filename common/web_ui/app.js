/* The frame around the views: who is signed in, which view the address names, and what is said when the server is away. */
import * as api from './api.js';
import {link} from './api.js';
import {$, h, announce, failure, field, name, skeleton} from './dom.js';
import {person} from './format.js';
import {processes} from './processes.js';
import {start} from './start.js';
import {session} from './session.js';
import {history as sessions} from './history.js';
import {compare} from './compare.js';

const VIEWS = {processes, start, sessions, compare};
const app = {info: null, profilers: null, go, replaceQuery, loadProfilers};
let current = null; /* the view that is shown: {stop: AbortController, refresh} */
let away = null;

/* #/processes?namespace=shop -> ["processes", "", {namespace: "shop"}] */
function address() {
	const [path, q] = location.hash.replace(/^#\/?/, '').split('?');
	const [view, rest] = [path.split('/')[0] || 'processes', path.split('/').slice(1).join('/')];
	let id = '';
	try { id = decodeURIComponent(rest); } catch { /* not one of our addresses */ }
	return [view, id, Object.fromEntries(new URLSearchParams(q || ''))];
}

function go(view, id, parameters) {
	location.hash = link(view, id, parameters);
}

/* The filter, or the place in a report, belongs to the address, so that it can be shared, but is no step back. */
function replaceQuery(view, parameters, id = '') {
	const here = shown === location.hash;
	history.replaceState(null, '', link(view, id, parameters));
	if (here) shown = location.hash;
}

async function loadProfilers() {
	app.profilers ||= (await api.get('profilers')).items;
	return app.profilers;
}

async function show() {
	if (takeToken()) return;
	current?.stop.abort();
	const stop = new AbortController(), main = $('main');
	current = {stop, refresh: null};
	if (!api.token.get()) return signIn();
	try {
		if (!app.info) {
			main.replaceChildren(skeleton());
			app.info = await api.get('info', null, stop.signal);
			dressFrame();
		}
		const [view, id, parameters] = address();
		const part = {start: 'processes', compare: 'sessions'}[view] || view;
		for (const a of $('nav').querySelectorAll('a')) {
			const here = a.getAttribute('href') === '#/' + part;
			if (here) a.setAttribute('aria-current', 'page');
			else a.removeAttribute('aria-current');
		}
		const make = view === 'sessions' && id ? session : VIEWS[view];
		if (!make) throw new api.Problem(404, {detail: 'There is no such page. The list of processes is a good place to begin.'}, 'Not found');
		const context = {...app, main, signal: stop.signal, id, parameters, view, title, onRefresh: f => { if (current.stop === stop) current.refresh = f; }};
		await make(context);
	} catch (e) {
		if (stop.signal.aborted) return;
		if (e.status === 401) return; /* the sign-in is shown already */
		title('Something is wrong');
		main.replaceChildren(failure(e, show));
	}
}

/* The title of the window and, for keyboards and screen readers, a beginning to go on from. */
let shown = '';
function title(text) {
	document.title = text + ' · Dr-Dotnet';
	if (shown === location.hash) return;
	const first = shown === '';
	shown = location.hash;
	scrollTo(0, 0);
	const heading = $('main').querySelector('h1');
	if (first || !heading) return;
	heading.tabIndex = -1;
	heading.focus({preventScroll: true});
}

function dressFrame() {
	$('nav').hidden = $('sign-out').hidden = !app.info;
	const who = app.info && [app.info.mode === 'local' ? 'this machine' : name(person(app.info.user)), app.info.readOnly && ' (read only)'];
	$('who').title = app.info?.user || '';
	$('who').replaceChildren(...(who || []).filter(Boolean));
}

/* signing in ------------------------------------------------------------------------------------------------------- */

/* `drdotnet serve` prints an address with the token in it; it does not stay in the address bar or the history. */
function takeToken() {
	const found = /^#token=([^&]+)/.exec(location.hash);
	if (!found) return false;
	let value = found[1];
	try { value = decodeURIComponent(value); } catch { /* as it is */ }
	history.replaceState(null, '', '#/processes');
	signedIn(value);
	return true;
}

function signedIn(value) {
	api.token.set(value.trim());
	app.info = app.profilers = null;
	show();
}

function signOut() {
	api.token.set('');
	app.info = app.profilers = null;
	dressFrame();
	show();
	announce('Signed out');
}

function signIn(problem) {
	current?.stop.abort();
	app.info = null;
	dressFrame();
	const input = h('input', {type: 'password', id: 'token', name: 'token', autocomplete: 'off', spellcheck: 'false', required: true,
		'aria-describedby': 'token-error', 'aria-invalid': problem ? 'true' : null});
	const said = h('p.error', {id: 'token-error', role: problem ? 'alert' : null}, problem ? problem.message : '');
	const form = h('form.card.sign-in', {onsubmit: e => {
		e.preventDefault();
		if (input.value.trim()) return signedIn(input.value);
		said.textContent = 'Paste a token first.';
		input.focus();
	}}, h('h1', null, problem ? 'Please sign in again' : 'Sign in'), field('Token', input), said,
	h('button.primary', {type: 'submit'}, 'Sign in'),
	h('h2', null, 'Where do I get a token?'),
	h('p', null, 'In a cluster, any token of its API server will do. What you may see and start are the rights that you have there:'),
	h('pre', null, 'kubectl create token NAME -n NAMESPACE --duration 8h'),
	h('p', null, 'With ', h('code', null, 'drdotnet serve'), ', open the address that it prints: the token is in it.'),
	h('p.dim', null, 'It is kept in this tab only and goes nowhere but to this server.'));
	$('main').replaceChildren(form);
	title('Sign in');
	input.focus();
}

/* the server is away ----------------------------------------------------------------------------------------------- */

function lost(isLost) {
	if (isLost === Boolean(away)) return;
	if (!isLost) {
		clearTimeout(away.timer);
		away = null;
		$('banner').hidden = true;
		announce('Connected again');
		if (current?.refresh) current.refresh();
		else show();
		return;
	}
	away = {tries: 0, timer: 0};
	$('banner').textContent = 'The server cannot be reached. Trying again…';
	$('banner').hidden = false;
	const look = () => {
		if (!away) return;
		away.timer = setTimeout(() => api.get('info').catch(() => {}).finally(look), Math.min(10000, 500 * 2 ** away.tries++));
	};
	look();
}

/* the frame's own controls ----------------------------------------------------------------------------------------- */

function themeNow() {
	return document.documentElement.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}

function keys(e) {
	if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.('input, select, textarea, dialog')) return;
	const box = $('filter');
	if (!box) return;
	e.preventDefault();
	box.focus();
	box.select();
}

$('theme').addEventListener('click', () => {
	const next = themeNow() === 'dark' ? 'light' : 'dark';
	document.documentElement.dataset.theme = next;
	try { localStorage.setItem('drdotnet-theme', next); } catch { /* until the page is left */ }
	dispatchEvent(new CustomEvent('theme', {detail: next}));
	announce(next === 'dark' ? 'Dark' : 'Light');
});
$('sign-out').addEventListener('click', signOut);
document.querySelector('.skip').addEventListener('click', e => { /* the hash is the address of a view */
	e.preventDefault();
	$('main').focus();
});
addEventListener('keydown', keys);
addEventListener('hashchange', show);
api.listen({lost, refused: problem => signIn(problem)});
show();
