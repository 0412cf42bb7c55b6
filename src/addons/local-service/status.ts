import { findCondition, type Stated, withCondition } from '#api/conditions.ts';
import { type LocalService, type LocalServiceStatus, MAX_SHORTENED } from './api.ts';
import type { ServicePlan } from './plan.ts';

/** Maximum number of names in a message; the rest is a count. */
const NAMED = 5;

/** Result of a plan. */
export interface Done {
  plan: ServicePlan;
  made: number;
  changed: number;
  removed: number;
  /** Messages of the API server about refused writes. */
  refused: readonly string[];
}

export interface Notice {
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

const some = (texts: readonly string[]): string =>
  texts.length <= NAMED
    ? texts.join(', ')
    : `${texts.slice(0, NAMED).join(', ')} and ${texts.length - NAMED} more`;

/** Returns the Ready condition: whether every matching node is served, and how to fix a node that is not. */
function readiness({ plan: { taken }, refused }: Done, nodes: number): Stated {
  const no = (reason: string, message: string): Stated => ({
    type: 'Ready',
    status: 'False',
    reason,
    message,
  });
  if (taken.length > 0) {
    const names = some(taken.map(({ service }) => `"${service}"`));
    return no(
      'ErrResourceExists',
      `Service ${names} exists and is not ours: remove it, or rename the LocalService`,
    );
  }
  if (refused.length > 0) return no('Refused', some([...new Set(refused)].sort()));
  if (nodes === 0) return no('NoNodes', 'no node has the labels of spec.nodeSelector');
  return {
    type: 'Ready',
    status: 'True',
    reason: 'Served',
    message: 'every node that matches has its Service',
  };
}

/** Returns the condition for names: whether Services are called `<name>-<node>`, and the first exceptions. */
function naming({ shortened }: ServicePlan): Stated {
  const names = some(shortened.map(({ node, service }) => `${service} for ${node}`));
  return shortened.length === 0
    ? { type: 'PlainNames', status: 'True', reason: 'Plain', message: 'Services are called <name>-<node>' }
    : { type: 'PlainNames', status: 'False', reason: 'Shortened', message: names };
}

const shortenedOf = ({ shortened }: ServicePlan) =>
  shortened
    .toSorted((a, b) => (a.node < b.node ? -1 : 1))
    .slice(0, MAX_SHORTENED)
    .map(({ node, service }) => ({ node, service }));

/** Returns the status after a reconcile, and Events for new results. */
export function outcomeOf(
  local: LocalService,
  done: Done,
  now: Date,
): { status: LocalServiceStatus; notices: readonly Notice[] } {
  const { plan, made, changed, removed } = done;
  const { generation } = local.metadata;
  const nodes = plan.served + plan.create.length + plan.change.length + plan.taken.length + plan.anew;
  const [ready, names] = [readiness(done, nodes), naming(plan)];
  const conditions = [ready, names].reduce(
    (list, stated) => withCondition(list, stated, now, generation),
    local.status?.conditions ?? [],
  );
  const before = findCondition(local.status?.conditions, 'Ready');
  const notices: Notice[] = [];
  if (made + changed + removed > 0) {
    const message = `Services: ${made} made, ${changed} changed, ${removed} removed`;
    notices.push({ type: 'Normal', reason: 'Synced', message });
  }
  if (ready.status === 'False' && before?.message !== ready.message)
    notices.push({ type: 'Warning', reason: ready.reason, message: ready.message });
  return {
    status: {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      nodes,
      services: plan.served + made + changed,
      ...(plan.shortened.length === 0 ? {} : { shortened: shortenedOf(plan) }),
      conditions,
    },
    notices,
  };
}
