import { changesBetween, joinedMasters, notCreatedYet, onlyWorkersChange } from './changes.ts';
import { isMaster, membersOf } from './members.ts';
import { named, type Operation } from './operation.ts';

/** Removes every claimed host that `spec` no longer names. */
export const scaleDown: Operation = {
  ...named('scale-down'),
  phase: 'Scaling',
  ends: 'Running',
  needsKubeconfig: true,
  hosts({ spec, claimed }) {
    const wanted = membersOf(spec.cluster);
    return {
      joining: [],
      leaving: claimed.map(({ host }) => host).filter((host) => !wanted.has(host.ip) && !isMaster(host)),
      through: joinedMasters(claimed),
    };
  },
  check({ spec, applied }) {
    if (!applied) return [notCreatedYet];
    const changes = changesBetween(applied, spec);
    return [
      ...onlyWorkersChange(changes),
      ...changes.added.map(({ ip }) => ({
        field: 'spec.cluster.nodeList',
        value: ip,
        reason: 'is no host of the cluster; a scale-down only removes hosts',
      })),
    ];
  },
};
