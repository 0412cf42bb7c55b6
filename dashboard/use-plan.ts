import { useEffect, useState } from 'react';
import { call, type FieldProblem, type Query, Refused } from './api.ts';
import { isPlan, type Plan } from './plan-view.tsx';

const PAUSE_MS = 400;

export interface Planned {
  plan: Plan | undefined;
  problems: readonly FieldProblem[];
  /** Why there is no plan, if no field is to blame. */
  refusal: string | undefined;
  /** Whether the plan is of values that were changed since. */
  isBusy: boolean;
}

const NOTHING: Planned = { plan: undefined, problems: [], refusal: undefined, isBusy: false };

/**
 * Asks the server for the plan of a request a moment after its last change, and again if `version` of the cluster changes. A
 * `path` of `undefined`: there is nothing to plan yet.
 */
export function usePlan(
  method: 'POST' | 'DELETE',
  path: string | undefined,
  query: Query,
  body: unknown,
  version = '',
): Planned {
  const [answered, setAnswered] = useState({ ...NOTHING, key: '' });
  const key = JSON.stringify([method, path, query, body, version]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key has all parts of the request.
  useEffect(() => {
    if (path === undefined) {
      setAnswered({ ...NOTHING, key });
      return;
    }
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const answer = await call(method, path, {
          query: { ...query, dryRun: 'All' },
          body,
          signal: abort.signal,
        });
        const plan =
          typeof answer === 'object' && answer !== null && 'plan' in answer ? answer.plan : undefined;
        if (!isPlan(plan)) throw new Error('The server answers without a plan.');
        setAnswered({ ...NOTHING, key, plan, problems: plan.refusals });
      } catch (error) {
        if (abort.signal.aborted) return;
        const problems = error instanceof Refused ? error.problems : [];
        const message = error instanceof Error ? error.message : String(error);
        setAnswered({ ...NOTHING, key, problems, refusal: problems.length > 0 ? undefined : message });
      }
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key]);
  const { key: of, ...planned } = answered;
  return { ...planned, isBusy: path !== undefined && of !== key };
}
