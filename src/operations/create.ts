import { membersOf } from './members.ts';
import { named, type Operation } from './operation.ts';

/** Makes the cluster of `spec` out of hosts; hosts that a former, failed try took and the spec dropped are reset. */
export const create: Operation = {
  ...named('create'),
  phase: 'Creating',
  ends: 'Running',
  needsKubeconfig: true,
  hosts({ spec, claimed }) {
    const members = membersOf(spec.cluster);
    return {
      joining: [...members.values()],
      leaving: claimed.map(({ host }) => host).filter(({ ip }) => !members.has(ip)),
      through: [],
    };
  },
  check: () => [],
};
