import type { Mutant, Witness } from './mutant.ts';

const planned = (test: string): Witness => ({
  project: 'unit',
  file: 'src/operations/control-planes.test.ts',
  test,
});

/** Mistakes of operations with control planes. */
export const ofControlPlanes: readonly Mutant[] = [
  {
    name: 'hosts are not led to new API servers',
    file: 'src/operations/control-planes.ts',
    from: 'return present.length !== wanted.size || present.some((record) => !wanted.has(record.spec.ip));',
    to: 'return present.length > wanted.size + hosts.length;',
    witness: planned('change the endpoints of every remaining host when they join, after an etcd check'),
  },
  {
    name: 'a host that the last run did not get to is forgotten',
    file: 'src/operations/control-planes.ts',
    from: 'endpointsChange(situation) || record.status?.lastRun?.ok === false',
    to: 'endpointsChange(situation)',
    witness: planned('give their endpoints again to a host that the last run did not reach'),
  },
  {
    name: 'two control planes are replaced at once',
    file: 'src/operations/replace.ts',
    from: 'if (length <= 1) return [];',
    to: 'if (length <= 2) return [];',
    witness: planned('is refused if'),
  },
  {
    name: 'a cluster may have two control planes',
    file: 'src/operations/validate.ts',
    from: 'if (count % 2 === 0) {',
    to: 'if (count % 2 === 0 && count > 2) {',
    witness: planned('may not be two'),
  },
];
