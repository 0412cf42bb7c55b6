/** They kill the operator, or the host of the meta cluster: one after the other, on a meta cluster of their own. */
import './disturbing/operator-killed.ts';
import './disturbing/changes.ts';
import './disturbing/hooks.ts';
import './disturbing/faults.ts';
import './disturbing/lost.ts';
import './disturbing/meta-in-trouble.ts';
