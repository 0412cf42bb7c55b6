import { type Check, error, fine, joins } from '../check.ts';

/** Whether the host gets at the files that it will install. */
export const artifacts: Check = {
  name: 'artifacts',
  check: (context) =>
    joins(context) && context.host.facts.artifacts === false
      ? error(
          'cannot reach the artifacts; see that its firewall and routes let it fetch them from the meta cluster',
        )
      : fine,
};
