import { clustersOf } from '#access/namespace-clusters.ts';
import type { Problem } from '#base/errors.ts';
import { type LimitedWrite, limitProblems } from '#operations/limits.ts';
import type { PeopleDeps } from '../auth/route-deps.ts';
import { unprocessable } from '../http/errors.ts';

type Spelled = (problem: Problem) => Problem;

/** Returns the limits of the site that a write would exceed, with the field names of a plan. */
export const limitRefusals = (
  { client, limits }: Pick<PeopleDeps, 'client' | 'limits'>,
  write: LimitedWrite,
): Promise<Problem[]> => limitProblems(write, limits, (namespace) => clustersOf(client, namespace));

/**
 * Throws HttpError 422 with the limits that a write exceeds. The webhook enforces them; this answer has the request's field
 * names.
 */
export async function refuseBeyondLimits(
  deps: Pick<PeopleDeps, 'client' | 'limits'>,
  write: LimitedWrite,
  spelled: Spelled,
): Promise<void> {
  const problems = await limitRefusals(deps, write);
  if (problems.length > 0) throw unprocessable(problems.map(spelled));
}
