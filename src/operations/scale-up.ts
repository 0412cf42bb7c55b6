import { changesBetween, joinedMasters, notCreatedYet, onlyWorkersChange } from './changes.ts';
import { membersOf } from './members.ts';
import { named, type Operation } from './operation.ts';

/** Adds every host of `spec` that is not yet part of the cluster, so that a second try takes what the first left. */
export const scaleUp: Operation = {
  ...named('scale-up'),
  phase: 'Scaling',
  ends: 'Running',
  needsKubeconfig: true,
  hosts({ spec, claimed }) {
    const joined = new Set(claimed.filter(({ state }) => state === 'joined').map(({ host }) => host.ip));
    return {
      joining: [...membersOf(spec.cluster).values()].filter(({ ip }) => !joined.has(ip)),
      leaving: [],
      through: joinedMasters(claimed),
    };
  },
  check({ spec, applied }) {
    if (!applied) return [notCreatedYet];
    const changes = changesBetween(applied, spec);
    return [
      ...onlyWorkersChange(changes),
      ...changes.removed.map(({ ip }) => ({
        field: 'spec.cluster.nodeList',
        value: ip,
        reason: 'is missing from the list; a scale-up keeps every present host',
      })),
    ];
  },
};
