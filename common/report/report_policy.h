/* What a report's page may do (Content-Security-Policy), wherever it is served: its own scripts and styles run, in an origin of their own, and
 * can reach nothing. */
#ifndef DRDOTNET_REPORT_POLICY_H
#define DRDOTNET_REPORT_POLICY_H

/* `ancestors`: whose frame it may be in. */
#define REPORT_POLICY_WITHIN(ancestors)                                                                                   \
	"sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; " \
	"font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors " ancestors
#define REPORT_POLICY REPORT_POLICY_WITHIN("'none'")

#endif
