'use strict';
/* Lines of source, where the symbols told them: {file, link, lines: [{line, self, total, and file and link where they are others}], moreLines}. A link is
 * that of the repository's page for the commit that was built; nothing is fetched from there. */
Report.source = (() => {
	const SHOWN = 8;
	const {make} = Report;
	const fileOf = (source, at) => at.file || source.file;
	const short = (source, at) => fileOf(source, at).split('/').pop() + ':' + at.line;

	function link(source, at, text) {
		const to = at.file ? at.link : source.link, whole = fileOf(source, at) + ':' + at.line;
		const node = make(/^https?:\/\//.test(to || '') ? 'a' : 'span', text);
		if (node.tagName === 'A') Object.assign(node, {href: `${to}#L${at.line}`, target: '_blank', rel: 'noopener noreferrer'});
		node.title = node.tagName === 'A' ? `${whole} at ${new URL(to).host}` : whole;
		return node;
	}

	/* The line with most; `share`: its part as text. */
	function hottest(source, share) {
		const at = source.lines[0];
		return make('span', 'mostly ', link(source, at, short(source, at)), ' ', make('b', share(at.total)));
	}

	/* The lines with most, in the order of the source. */
	function strip(source, share) {
		const lines = source.lines.slice(0, SHOWN), most = lines[0].total || 1, more = source.moreLines + source.lines.length - lines.length;
		const inOrder = [...lines].sort((a, b) => fileOf(source, a) < fileOf(source, b) ? -1 : fileOf(source, a) > fileOf(source, b) ? 1 : a.line - b.line);
		const nodes = inOrder.map(at => {
			const node = make('span.line', link(source, at, at.file ? short(source, at) : String(at.line)), ' ', make('b', share(at.total)));
			node.style.setProperty('--heat', Math.round(100 * at.total / most) + '%');
			return node;
		});
		return make('div.source', make('span.file', source.file), nodes, more ? make('span', `and ${Report.count(more)} more`) : []);
	}
	/* A frame of a stack, {name, place: {file, link, line}}: its name, and the place behind it. */
	const frame = f => f.place ? [f.name + ' (', link(f.place, {line: f.place.line}, short(f.place, {line: f.place.line})), ')'] : [f.name];
	/* A stack, its innermost frame first, of frames that `show` makes nodes of. Of neighbours in one native library of which no function has a name, one
	 * line is shown. */
	function stack(frames, show = frame) {
		const lines = [];
		for (const f of frames) {
			const last = lines.at(-1);
			if (last && last.frame.name === f.name && /^[^\s(]+\.so[.\d]*$/.test(f.name)) last.count++;
			else lines.push({frame: f, count: 1});
		}
		return make('ol.stack', lines.map(l => make('li', show(l.frame), l.count > 1 ? ` (${l.count} frames)` : null)));
	}
	return {frame, stack, hottest, strip};
})();
