import type { z } from 'zod';
import type { askedSchema, PlanAnswer } from '#rest/plan.ts';
import type { Route } from '#rest/route.ts';
import type { Address } from './clusters.ts';
import { CommandFailure, EXIT, type Flags, problemLines } from './failure.ts';
import type { Io } from './io.ts';
import type { requestOptions } from './options.ts';
import { planText } from './plan-text.ts';
import type { Session } from './session.ts';
import { type Deletion, waitFor } from './wait.ts';

export type AskingRoute = Route<
  Route['params'],
  z.ZodType<unknown, { namespace?: string | undefined; dryRun?: 'All' | undefined }>,
  z.ZodType,
  typeof askedSchema
>;

/** A loss, or how it follows from the plan. */
export type Danger = string | ((plan: PlanAnswer | undefined) => string);

/** A request for an operation. */
export interface Request {
  /** Name of the cluster. */
  name: string;
  route: AskingRoute;
  address: Address;
  body: Readonly<Record<string, unknown>>;
  /** Flags that gave fields of the body. */
  flags?: Flags | undefined;
  /** Text for people: `add 192.0.2.13`; default: the summary of the route. */
  does?: string | undefined;
  /** Loss that the user must confirm; undefined if the operation only adds or repairs. */
  danger?: Danger | undefined;
  /** The cluster as it was before the request; undefined if it does not exist. */
  subject?: (Deletion & { isPaused: boolean }) | undefined;
}

type Options = z.output<z.ZodObject<typeof requestOptions>>;

const isYes = (answer: string): boolean => /^y(es)?$/i.test(answer.trim());

/** Returns whether the user agrees. Without a terminal, only --yes agrees to what may lose data. */
async function agrees(
  io: Io,
  name: string,
  danger: string | undefined,
  { yes, dryRun }: Options,
): Promise<boolean> {
  if (yes && !dryRun) return true;
  if (danger === undefined && !dryRun) return true;
  if (!io.isTerminal) {
    if (dryRun) return false;
    throw new CommandFailure(`${danger}; repeat the command with --yes if you want that`, EXIT.usage);
  }
  const question = danger === undefined ? `Carry out this plan on ${name}?` : `${danger}. Continue?`;
  return isYes(await io.ask(`${question} [y/N] `));
}

/** Returns why a plan is refused. If the cluster is busy, the other refusals are of a spec that will be another. */
function refusalLines({ name, flags }: Request, refusals: PlanAnswer['refusals']): string[] {
  const busy = refusals.find(({ field, reason }) => field === 'name' && reason.startsWith('is busy'));
  return busy === undefined
    ? problemLines(refusals, flags)
    : [`cluster ${name} ${busy.reason}; "matryoshka describe ${name}" shows the operation`];
}

/** Requests an operation: shows its plan if the user wants it or may lose data, asks, sends, and waits for the end. */
export async function request(session: Session, io: Io, asked: Request, options: Options): Promise<void> {
  const { name, route, address, body, flags, danger } = asked;
  const call = (more: object, query: { dryRun?: 'All' } = {}) =>
    session.call(
      route,
      {
        params: address.params,
        query: { ...address.query, ...query },
        body: { ...body, ...more },
      },
      flags,
    );
  let approved: { plan?: string } = {};
  let hosts: string[] = [];
  // Its refusals include what the request itself does not check, such as a host of another cluster.
  const { plan } = await call({}, { dryRun: 'All' });
  if (plan) {
    hosts = plan.hosts.map(({ ip }) => ip);
    if (plan.refusals.length > 0)
      throw new CommandFailure(refusalLines(asked, plan.refusals).join('\n'), EXIT.refused);
    if (options.dryRun || (danger !== undefined && !options.yes)) io.print(planText(plan, flags));
    if (options.dryRun || danger !== undefined) approved = { plan: plan.hash };
  }
  const loss = typeof danger === 'function' ? danger(plan) : danger;
  if (!(await agrees(io, name, loss, options))) {
    const joins = plan?.hosts.some(({ action }) => action === 'join') ?? false;
    io.note(
      `Nothing was changed.${joins ? ' New hosts were not checked: "matryoshka precheck" does that.' : ''}`,
    );
    return;
  }
  const { requestId } = await call(approved);
  const isDeletion = route.operationId === 'deleteCluster';
  const what = isDeletion ? 'deletion' : (asked.does ?? route.summary.toLowerCase());
  if (!options.wait) {
    io.print(`cluster ${name}: requested (${what})`);
    // A deletion does not wait for the end of a pause.
    io.note(
      asked.subject?.isPaused && !isDeletion
        ? `cluster ${name} is paused: the operation starts after "matryoshka resume ${name}"`
        : `"matryoshka logs -f ${name}" shows the work, "matryoshka get ${name}" how it stands`,
    );
    return;
  }
  if (!isDeletion && requestId === undefined)
    throw new CommandFailure(
      `cluster ${name}: requested (${what}); this server is too old for --wait`,
      EXIT.unavailable,
    );
  await waitFor(session, io, {
    ...{ name, address, hosts, timeoutSeconds: options.timeout },
    what:
      isDeletion || requestId === undefined
        ? { kind: 'deletion', ...(asked.subject ?? { uid: undefined, before: undefined }) }
        : { kind: 'operation', requestId },
  });
  io.print(`cluster ${name}: finished (${what})`);
}
