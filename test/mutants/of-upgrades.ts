import type { Mutant, Witness } from './mutant.ts';

const changed = (test: string): Witness => ({
  project: 'unit',
  file: 'test/roles/upgrade-switch.test.ts',
  test,
});
const BACK =
  'puts the former version back if the API server does not start, and the next attempt checks etcd';

/** Control planes that change to another version. */
export const ofUpgrades: readonly Mutant[] = [
  {
    name: 'an upgrade that has finished may be undone',
    file: 'src/operations/rollback.ts',
    from: "last?.result === 'finished' ?",
    to: "last?.result === 'cancelled' ?",
    witness: { project: 'unit', file: 'src/operations/rollback.test.ts', test: 'is refused after' },
  },
  {
    name: 'a new kubelet has the mark of the former one',
    file: 'ansible/roles/upgrade/files/switch.sh',
    from: '  rm -f "$installed/kubelet"\n',
    to: '',
    witness: changed('puts a kubelet back whose change was cut short before it was noted'),
  },
  {
    name: 'a control plane that was finished goes back',
    file: 'ansible/roles/upgrade/files/control-plane.sh',
    from: '[ ! -e "$upgraded" ] || fail',
    to: 'true || fail',
    witness: changed('puts nothing back on a control plane that an earlier attempt has finished'),
  },
  {
    name: 'settings that the new version has written are kept as the former ones',
    file: 'ansible/roles/upgrade/files/former.sh',
    from: '  for file in config.yaml kubeadm-flags.env; do',
    to: '  for file in config.yaml; do',
    witness: changed(BACK),
  },
  {
    name: 'after a way back, the next attempt does not check etcd',
    file: 'ansible/roles/upgrade/files/control-plane.sh',
    from: '  rm -f "$work/upgrade/$FROM/begun"\n',
    to: '',
    witness: changed(BACK),
  },
  {
    name: 'policies that are no longer enforced leave rules in shared chains',
    file: 'ansible/roles/network/files/forget-policies.sh',
    from: "'KUBE-ROUTER rule '",
    to: "'no rule '",
    witness: {
      project: 'unit',
      file: 'test/roles/manifest.test.ts',
      test: 'are removed with rules and tools once policies are no longer enforced, and the network stays',
    },
  },
];
