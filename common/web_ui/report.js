/* A report in place: fetched with the token, shown by viewer.html in an origin of its own without network. */
import * as api from './api.js';
import {h, failure, skeleton} from './dom.js';

const LEAST = 320, MOST = 20000, MOST_STATE = 2000;

function themeNow() {
	return document.documentElement.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}

/* Fills `host`. The frame says how high its content is, so that the page has one scroll bar. `place`: {state: where in the report to begin, kept: told
 * of each place that is shown from then on}. */
export async function showReport(host, session, pod, file, signal, place) {
	host.replaceChildren(skeleton());
	let html;
	try {
		html = await api.text(api.reportPath(session.id, pod, file), signal);
	} catch (e) {
		if (!signal.aborted && e.status !== 401) host.replaceChildren(failure(e, () => showReport(host, session, pod, file, signal, place)));
		return;
	}
	const frame = h('iframe.report', {sandbox: 'allow-scripts', src: 'viewer.html', title: 'Report of ' + pod});
	addEventListener('message', e => {
		if (e.source !== frame.contentWindow || typeof e.data !== 'object' || e.data === null) return;
		if (e.data.ready === true && html !== null) {
			frame.contentWindow.postMessage({html, theme: themeNow(), state: place.state}, '*'); /* its origin is opaque and cannot be named */
			html = null;
		}
		if (typeof e.data.state === 'string' && e.data.state.length <= MOST_STATE) place.kept(e.data.state);
		const high = Number(e.data.height);
		if (high > 0) {
			frame.style.height = Math.min(MOST, Math.max(LEAST, Math.ceil(high))) + 'px';
			frame.dataset.shown = 'yes';
		}
	}, {signal});
	const dress = () => frame.contentWindow?.postMessage({theme: themeNow()}, '*');
	addEventListener('theme', dress, {signal});
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', dress, {signal});
	host.replaceChildren(frame);
}
