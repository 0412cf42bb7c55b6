import { type Check, error, fine, joins } from '../check.ts';
import { quoted } from '../script.ts';

/** Whether the host gets at the files that it will install. */
export const artifacts: Check = {
  name: 'artifacts',
  script: ({ artifactUrl }) =>
    artifactUrl === undefined
      ? ''
      : `command -v curl >/dev/null || exit 0
curl -fsI -m 5 -o /dev/null ${quoted(artifactUrl)} && say artifacts yes || say artifacts no`,
  good: '@artifacts yes',
  check: (context) =>
    joins(context) && context.host.said.text('artifacts') === 'no'
      ? error(
          'cannot reach the artifacts; see that its firewall and routes let it fetch them from the meta cluster',
        )
      : fine,
};
