// The Pod Security Standards as somebody else has written them down: the rules of @monokle/validation (tests/setup/from_npm.sh).
// usage: node pod_rules.mjs FOLDER < [pod, ...]     prints [[rule, ...], ...]: what each pod violates
import {readFileSync} from 'node:fs';

const {default: plugin} = await import(process.argv[2] + '/lib/validators/pod-security-standards/plugin.js');
const violations = pod => Object.entries(plugin.rules).filter(([, rule]) => {
	let reported = false;
	rule.validate({resources: [pod], params: {}}, {report: () => { reported = true; }});
	return reported;
}).map(([name]) => name);
console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(pod => violations(pod))));
