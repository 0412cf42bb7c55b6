import type { Ingress } from '#api/networking.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import type { ControllerHost } from '#runtime/process/controller-host.ts';
import type { Telling } from './problems.ts';
import { uidOf } from './verdicts.ts';

/** Reports the problems of an Ingress as Events, each once for as long as it lasts. */
export function createTeller(
  { recorder }: Pick<ControllerHost, 'recorder'>,
  ingresses: Informer<Ingress>,
): (ingress: Ingress, problems: readonly Telling[]) => void {
  /** Problems reported last, by uid. */
  const told = new Map<string, ReadonlySet<string>>();
  ingresses.addHandler({ delete: (gone) => void told.delete(uidOf(gone)) });
  const textOf = ({ reason, message }: Telling) => `${reason} ${message}`;

  return (ingress, problems) => {
    const before = told.get(uidOf(ingress));
    for (const one of problems)
      if (!before?.has(textOf(one))) recorder.event(ingress, 'Warning', one.reason, one.message);
    if (problems.length === 0) told.delete(uidOf(ingress));
    else told.set(uidOf(ingress), new Set(problems.map(textOf)));
  };
}
