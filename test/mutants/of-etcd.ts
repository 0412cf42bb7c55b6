import type { Mutant, Witness } from './mutant.ts';

const planned = (test: string): Witness => ({ project: 'unit', file: 'src/operations/etcd.test.ts', test });
const onHost = (test: string): Witness => ({ project: 'unit', file: 'test/roles/let-go.test.ts', test });
const settled = (test: string): Witness => ({
  project: 'unit',
  file: 'src/controller/cluster/decide/leaving.test.ts',
  test,
});

/** Mistakes of operations with etcd members. */
export const ofEtcd: readonly Mutant[] = [
  {
    name: 'a control plane leaves without etcd being asked about it',
    file: 'src/operations/etcd.ts',
    from: 'leaves(host) && (hasEtcd(host.member) || isMaster(host.member));',
    to: 'leaves(host) && hasEtcd(host.member);',
    witness: planned('is checked when a control plane leaves, because it may still have a member'),
  },
  {
    name: 'any operation takes out what a move has left',
    file: 'src/operations/etcd.ts',
    from: 'isEtcdOnly(record.spec) && mayRun(record) && !hasExternalEtcd(situation);',
    to: 'isEtcdOnly(record.spec) && mayRun(record) && hasExternalEtcd(situation) && !mayRun(record);',
    witness: planned('can be reverted only by another move: new hosts are'),
  },
  {
    name: 'a move joins hosts that are not part of the cluster',
    file: 'src/operations/move-etcd.ts',
    from: "if (isEtcdOnly(host) || state === 'Joined') return [];",
    to: 'if (isEtcdOnly(host) || state) return [];',
    witness: planned('is refused while a control plane or a worker is'),
  },
  {
    name: 'a second try of a creation takes away the etcd of a control plane that serves',
    file: 'src/operations/create.ts',
    from: 'if (gone.length === clusterHosts.length && !keeps) return [];',
    to: 'if (gone.length === clusterHosts.length) return [];',
    witness: planned('must keep etcd members that a remaining control plane uses'),
  },
  {
    name: 'a host whose drain was cut off counts as it was',
    file: 'src/controller/cluster/decide/leaving.ts',
    from: 'reason === CANCELLED || cutShort === true',
    to: 'reason === CANCELLED && cutShort === true',
    witness: settled('keeps the state Leaving if'),
  },
  {
    name: 'data of a member goes though the others do not answer',
    file: 'ansible/roles/etcd/files/let-go.sh',
    from: "fail 'this host may be a member of etcd, and the others do not answer",
    to: "echo 'this host may be a member of etcd, and the others do not answer",
    witness: onHost('keeps the data of etcd if'),
  },
  {
    name: 'a leader leaves without handing over',
    file: 'ansible/roles/etcd/files/remove-members.sh',
    from: '{ hand_over "$address" "$name"; gone',
    to: '{ gone',
    witness: onHost('moves leadership from a leaving leader to a remaining member'),
  },
  {
    name: 'a leader hands over to nobody in particular',
    file: 'ansible/roles/etcd/files/let-go.sh',
    from: 'index(leaving, " " $1 " ") == 0 && $4 == "false" { print $2; exit }',
    to: 'index(leaving, " " $1 " ") && $4 == "false" { print $2; exit }',
    witness: onHost('moves leadership from a leaving leader to a remaining member'),
  },
  {
    name: 'a member leaves though one that would stay is sick',
    file: 'ansible/roles/etcd/files/let-go.sh',
    from: '[ "$learner" = true ] || check_etcd "$IP" "$IP $JOINING_ETCD"',
    to: ':',
    witness: onHost('keeps the data of etcd if'),
  },
  {
    name: 'who leaves is said to be gone unseen',
    file: 'ansible/roles/etcd/files/remove-members.sh',
    from: 'if none_of "$LEAVING"; then',
    to: 'if true; then',
    witness: onHost('removes leaving members'),
  },
];
