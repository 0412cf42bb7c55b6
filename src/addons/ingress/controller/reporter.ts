import type { Ingress } from '#api/networking.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import type { ControllerHost } from '#runtime/process/controller-host.ts';
import type { Notice } from './problems.ts';
import { uidOf } from './verdicts.ts';

/** Reports the problems of an Ingress as Events, each once for as long as it lasts. */
export function createReporter(
  { recorder }: Pick<ControllerHost, 'recorder'>,
  ingresses: Informer<Ingress>,
): (ingress: Ingress, problems: readonly Notice[]) => void {
  /** Problems reported last, by uid. */
  const reported = new Map<string, ReadonlySet<string>>();
  ingresses.addHandler({ delete: (gone) => void reported.delete(uidOf(gone)) });
  const textOf = ({ reason, message }: Notice) => `${reason} ${message}`;

  return (ingress, problems) => {
    const before = reported.get(uidOf(ingress));
    for (const one of problems)
      if (!before?.has(textOf(one))) recorder.event(ingress, 'Warning', one.reason, one.message);
    if (problems.length === 0) reported.delete(uidOf(ingress));
    else reported.set(uidOf(ingress), new Set(problems.map(textOf)));
  };
}
