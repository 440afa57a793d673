'use strict';
/* Trees of stacks, as flame graphs show them: pure functions.
 *
 * A tree: lists by node in preorder: parent, method, depth, end (the first node behind the subtree), first and next (children by falling weight; -1:
 * none). Node 0 is "all", parent and method -1. weigh() adds self and total. */
Report.stacks = (() => {
	const FOLDED = -2; /* the method of a row that stands for frames that are folded */

	function makeTree(parent, method) {
		const n = parent.length, depth = new Int32Array(n), end = new Int32Array(n), first = new Int32Array(n).fill(-1), next = new Int32Array(n).fill(-1);
		for (let i = 1; i < n; i++) depth[i] = depth[parent[i]] + 1;
		for (let i = n - 1; i >= 0; i--) {
			if (end[i] <= i) end[i] = i + 1;
			if (!i) break;
			if (end[parent[i]] < end[i]) end[parent[i]] = end[i];
			next[i] = first[parent[i]];
			first[parent[i]] = i;
		}
		return {parent, method, depth, end, first, next};
	}

	/* Fills self and total from what ends in each node. `at`: the node of each entry, where these are another tree's. */
	function weigh(t, self, at) {
		const n = t.parent.length;
		t.self = new Float64Array(n);
		t.total = new Float64Array(n);
		for (let i = 0; i < self.length; i++) if (self[i]) t.self[at ? at[i] : i] += self[i];
		t.total.set(t.self);
		for (let i = n - 1; i > 0; i--) t.total[t.parent[i]] += t.total[i];
		return t;
	}

	/* What ends in each node, of entries {node, weight} that are wanted. */
	function endings(n, list, wanted) {
		const self = new Float64Array(n);
		for (let i = 0; i < list.node.length; i++) if (wanted(i)) self[list.node[i]] += list.weight[i];
		return self;
	}

	/* Nodes in any order in which parents stand first, as a tree with children by falling weight; `place`: where each has gone. */
	function arrange(parent, method, total) {
		const n = parent.length, first = new Int32Array(n).fill(-1), next = new Int32Array(n).fill(-1), place = new Int32Array(n);
		const rising = Int32Array.from(total.keys()).sort((a, b) => total[a] - total[b] || b - a);
		for (const i of rising) {
			if (!i) continue;
			next[i] = first[parent[i]];
			first[parent[i]] = i;
		}
		const parents = new Int32Array(n), methods = new Int32Array(n);
		parents[0] = methods[0] = -1;
		for (let i = 0, at = 0; i >= 0; at++) {
			place[i] = at;
			methods[at] = method[i];
			if (i) parents[at] = place[parent[i]];
			if (first[i] >= 0) { i = first[i]; continue; }
			while (i >= 0 && next[i] < 0) i = i ? parent[i] : -1;
			if (i >= 0) i = next[i];
		}
		return {tree: makeTree(parents, methods), place};
	}

	/* A tree that is put together: child(parent, method) is the node of that name, made where there is none. */
	function builder(root) {
		const parent = [-1], method = [root], keys = new Map();
		return {
			parent, method,
			child(above, m) {
				let of = keys.get(m);
				if (!of) keys.set(m, of = new Map());
				let node = of.get(above);
				if (node === undefined) {
					node = parent.length;
					of.set(above, node);
					parent.push(above);
					method.push(m);
				}
				return node;
			},
			finish(self) {
				const total = Float64Array.from({length: parent.length}, (_, i) => self[i] || 0);
				for (let i = parent.length - 1; i > 0; i--) total[parent[i]] += total[i];
				const {tree, place} = arrange(parent, method, total);
				return {tree: weigh(tree, self, place), place};
			},
		};
	}

	/* The tree with runs of plumbing as one row: neighbours that isPlumbing(method, above, below) names, two or more below each other, are one node;
	 * above, below: a frame of the application is nearer to the root, or to the leaf. What is called from there stands below that row, joined by
	 * method. layerOf(method): 'application' or another. The result has `at`: its node of each node of t; `origin`: a node of t of each of its nodes;
	 * `folds`: by node, {frames: the most below each other, methods: a set of them}. */
	function foldTree(t, layerOf, isPlumbing) {
		const n = t.parent.length, above = new Uint8Array(n), below = new Uint8Array(n), plumbing = new Uint8Array(n), long = new Uint8Array(n);
		const own = i => i > 0 && layerOf(t.method[i]) === 'application';
		for (let i = 1; i < n; i++) above[i] = above[t.parent[i]] || own(t.parent[i]) ? 1 : 0;
		for (let i = n - 1; i > 0; i--) if (below[i] || own(i)) below[t.parent[i]] = 1;
		for (let i = n - 1; i > 0; i--) plumbing[i] = isPlumbing(t.method[i], above[i] === 1, below[i] === 1) ? 1 : 0;
		for (let i = n - 1; i > 0; i--) if (plumbing[i] && plumbing[t.parent[i]]) long[t.parent[i]] = 1;
		for (let i = 1; i < n; i++) if (plumbing[i] && !long[i] && !plumbing[t.parent[i]]) plumbing[i] = 0; /* a single one has its name */
		const out = builder(-1), at = new Int32Array(n), run = new Int32Array(n), folds = new Map(), self = [];
		for (let i = 0; i < n; i++) {
			const p = t.parent[i];
			if (i && plumbing[i]) {
				run[i] = run[p] + 1;
				at[i] = plumbing[p] ? at[p] : out.child(at[p], FOLDED);
				if (!folds.has(at[i])) folds.set(at[i], {frames: 0, methods: new Set()});
				const fold = folds.get(at[i]);
				fold.frames = Math.max(fold.frames, run[i]);
				fold.methods.add(t.method[i]);
			} else if (i) {
				at[i] = out.child(at[p], t.method[i]);
			}
			self[at[i]] = (self[at[i]] || 0) + t.self[i];
		}
		const {tree, place} = out.finish(self), origin = new Int32Array(tree.parent.length).fill(-1);
		for (let i = 0; i < n; i++) {
			at[i] = place[at[i]];
			if (origin[at[i]] < 0) origin[at[i]] = i;
		}
		return Object.assign(tree, {at, origin, folds: new Map([...folds].map(([node, fold]) => [place[node], fold]))});
	}

	/* What a reader who looks for his own code skips: native code, what runs async methods, and what a web server and the runtime do before the first
	 * frame of the application. */
	const MACHINERY = new RegExp('^System\\.(Runtime\\.CompilerServices\\.(Async|PoolingAsync|Configured\\w*Task|\\w*TaskAwaiter)|Threading\\.(ExecutionContext|' +
		'ThreadPool|PortableThreadPool|Thread[.+](Start|Run)|Tasks\\.(Task|ValueTask|AwaitTaskContinuation|SynchronizationContextAwait|' +
		'\\w*Continuation|Sources\\.)))');
	const WEB = /^Microsoft\.(AspNetCore|Extensions\.Hosting)\./;
	const isWeb = method => WEB.test(method.name);
	function isPlumbing(method, above, below) {
		if (method.layer === 'application' || method.layer === 'allocation' || method.name.startsWith('[')) return false;
		if (method.layer !== 'library' || MACHINERY.test(method.name)) return true;
		return isWeb(method) ? !above || below : !above && below;
	}

	/* Self and total of each method in the nodes that are `inside`; recursion counts once. given(m): what is counted at a node of m is counted for its
	 * caller, too (the leaf of an allocation). */
	function countMethods(t, methodCount, inside, given) {
		const self = new Float64Array(methodCount), total = new Float64Array(methodCount), on = new Int32Array(methodCount), path = [];
		for (let i = 1; i < t.parent.length; i++) {
			if (!t.total[i] || !inside(i)) continue;
			while (path.length && t.depth[path[path.length - 1]] >= t.depth[i]) on[t.method[path.pop()]]--;
			const m = t.method[i];
			self[m] += t.self[i];
			if (given(m) && path.length) self[t.method[path[path.length - 1]]] += t.self[i];
			path.push(i);
			if (on[m]++ === 0) total[m] += t.total[i];
		}
		return {self, total};
	}

	/* The nodes that match and stand below no other that does. */
	function outermost(t, matches) {
		const found = [];
		for (let i = 1; i < t.parent.length; i++) {
			if (!matches(t.method[i])) continue;
			if (t.total[i] > 0) found.push(i);
			i = t.end[i] - 1;
		}
		return found;
	}

	function callees(t, m) {
		const out = builder(m), self = [0];
		for (const top of outermost(t, x => x === m)) {
			const nodes = [0];
			self[0] += t.self[top];
			for (let i = top + 1; i < t.end[top]; i++) {
				const d = t.depth[i] - t.depth[top], node = nodes[d] = out.child(nodes[d - 1], t.method[i]);
				self[node] = (self[node] || 0) + t.self[i];
			}
		}
		return rooted(out.finish(self).tree, m);
	}
	function callers(t, m) {
		const out = builder(m), self = [0];
		for (const top of outermost(t, x => x === m)) {
			let node = 0;
			for (let i = t.parent[top]; i > 0; i = t.parent[i]) node = out.child(node, t.method[i]);
			self[node] = (self[node] || 0) + t.total[top];
		}
		return rooted(out.finish(self).tree, m);
	}
	function rooted(t, m) {
		t.method[0] = m;
		return t;
	}

	/* Two trees of the same methods, path by path: what `then` had at each node of `now`, and the outermost nodes that now has not, most first. */
	function compare(now, then) {
		const places = new Map(), before = new Float64Array(now.parent.length), to = new Int32Array(then.parent.length).fill(-1), gone = [];
		for (let i = 1; i < now.parent.length; i++) {
			let of = places.get(now.method[i]);
			if (!of) places.set(now.method[i], of = new Map());
			of.set(now.parent[i], i);
		}
		to[0] = 0;
		before[0] = then.total[0];
		for (let i = 1; i < then.parent.length; i++) {
			const p = to[then.parent[i]];
			if (p < 0) continue;
			to[i] = places.get(then.method[i])?.get(p) ?? -1;
			if (to[i] >= 0) before[to[i]] += then.total[i];
			else if (then.total[i]) gone.push(i);
		}
		return {before, gone: gone.sort((a, b) => then.total[b] - then.total[a])};
	}

	return {FOLDED, makeTree, weigh, endings, foldTree, isPlumbing, isWeb, countMethods, outermost, callees, callers, compare};
})();
