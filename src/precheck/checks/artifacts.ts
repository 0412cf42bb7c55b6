import { quoted } from '#ssh/quoted.ts';
import { type Check, error, fine, joins } from '../check.ts';

/** Their one server may be on its way to another node, or its node's kubelet just begin; tries end well before the answer must be there. */
const PATIENCE = '-m 5 --retry 20 --retry-delay 1 --retry-all-errors --retry-max-time 15';

/** Whether the host gets at the files that it will install. A curl that does not know these options is the check of versions'. */
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
