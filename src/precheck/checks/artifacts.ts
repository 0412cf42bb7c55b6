import { quoted } from '#ssh/quoted.ts';
import { type Check, error, fine, joins } from '../check.ts';

/**
 * Options of curl. The server has one replica, which may be moving to another node, or whose kubelet may be starting. The
 * attempts end well before the host's answer is due.
 */
const PATIENCE = '-m 5 --retry 20 --retry-delay 1 --retry-all-errors --retry-max-time 15';

/** Whether the host can download its files. The versions check reports a curl without these options. */
export const artifacts: Check = {
  name: 'artifacts',
  waits: true,
  script: ({ artifactUrl }) =>
    artifactUrl === undefined
      ? ''
      : `curl ${PATIENCE} --version >/dev/null || exit 0
curl -fsI ${PATIENCE} -o /dev/null ${quoted(artifactUrl)} && say artifacts yes || say artifacts no`,
  good: '@artifacts yes',
  check: (context) =>
    joins(context) && context.host.said.text('artifacts') === 'no'
      ? error(
          'cannot reach the artifacts; see that its firewall and routes let it fetch them from the meta cluster',
        )
      : fine,
};
