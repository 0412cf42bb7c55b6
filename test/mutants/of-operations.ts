import type { Mutant, Witness } from './mutant.ts';

const planned = (test: string): Witness => ({
  project: 'unit',
  file: 'src/operations/control-planes.test.ts',
  test,
});
const drained = (test: string): Witness => ({
  project: 'api',
  file: 'test/conformance/drain-holds.test.ts',
  test,
});

const ready = (test: string): Witness => ({ project: 'unit', file: 'test/roles/ready.test.ts', test });

/** Wrong ends of operations. */
export const ofOperations: readonly Mutant[] = [
  {
    name: 'only a disruption budget holds a node',
    file: 'ansible/roles/drain/files/evict.sh',
    from: 'hold "$2" "$namespace/$pod" "${said:-',
    to: '[[ $said != *"disruption budget"* ]] || hold "$2" "$namespace/$pod" "${said:-',
    witness: drained('keeps a node whose pod has two disruption budgets'),
  },
  {
    name: 'a list of pods that fails counts as nobody there',
    file: 'ansible/roles/drain/files/evict.sh',
    from: '{ hold "$2" \'\' "its pods cannot be listed: $pods"; return; }',
    to: 'return',
    witness: drained('every eviction, and lists of pods after the first'),
  },
  {
    name: 'a node that SSH does not reach is not drained',
    file: 'ansible/roles/drain/files/evict.sh',
    from: '&& [ "$ready" = Unknown ]',
    to: '',
    witness: drained('drains a Ready node that SSH does not reach, and respects budgets'),
  },
  {
    name: 'every static pod in kube-system is awaited',
    file: 'ansible/roles/readiness/files/ready.sh',
    from: '"etcd-$3") ;; *) return 1 ;; esac',
    to: '"etcd-$3") ;; *) return 0 ;; esac',
    witness: ready('a static pod of a user is not ready'),
  },
  {
    name: 'a dead worker keeps a dead control plane from being replaced',
    file: 'src/operations/control-planes.ts',
    from: '!hasEtcd(host) && (!isMaster(host) ||',
    to: '!hasEtcd(host) && (isMaster(host) &&',
    witness: planned('although a worker is away; hosts with etcd must answer'),
  },
  {
    name: 'a kubelet may start before the names of its API servers are back',
    file: 'ansible/roles/host/files/keep-endpoint.sh',
    from: 'Before=kubelet.service matryoshka-balancer.service',
    to: 'Before=matryoshka-balancer.service',
    witness: {
      project: 'unit',
      file: 'test/roles/keep-endpoint.test.ts',
      test: 'are restored before the kubelet starts',
    },
  },
  {
    name: 'a cluster that somebody upgraded by hand is taken back',
    file: 'ansible/roles/repair/files/version.sh',
    from: '[ "$has" = "$KUBE_VERSION" ] ||',
    to: 'true ||',
    witness: {
      project: 'unit',
      file: 'test/roles/repair-version.test.ts',
      test: 'refuses to repair a cluster that a user upgraded',
    },
  },
  {
    name: 'hosts of a release without artifacts are put back',
    file: 'src/operations/plan-for.ts',
    from: 'if (version === undefined || version !== present || offer.versions.includes(version)) return [];',
    to: 'if (version !== "") return [];',
    witness: {
      project: 'unit',
      file: 'src/operations/plan-for.test.ts',
      test: 'is not put back',
    },
  },
  {
    name: 'an upgrade may skip a minor version',
    file: 'src/operations/version-order.ts',
    from: '(before[1] ?? 0) <= 1;',
    to: '(before[1] ?? 0) <= 2;',
    witness: { project: 'unit', file: 'src/operations/update.test.ts', test: 'is refused' },
  },
  {
    name: 'a downgrade counts as an upgrade',
    file: 'src/operations/update.ts',
    from: 'if (!isLater(from, to))',
    to: 'if (from === to)',
    witness: { project: 'unit', file: 'src/operations/update.test.ts', test: 'is refused' },
  },
  {
    name: 'two etcd members are upgraded',
    file: 'src/operations/update.ts',
    from: 'if (members.length !== 2) return [];',
    to: 'if (members.length !== 0) return [];',
    witness: {
      project: 'unit',
      file: 'src/operations/update.test.ts',
      test: 'is refused with two etcd members, and begins with external ones',
    },
  },
  {
    name: 'a restore needs no confirmation',
    file: 'src/operations/restore.ts',
    from: 'if (confirmed === undefined)',
    to: 'if (confirmed === undefined) return [];\n  if (!confirmed)',
    witness: { project: 'unit', file: 'src/operations/restore.test.ts', test: 'is refused with' },
  },
  {
    name: 'a restore loses more than was confirmed',
    file: 'src/operations/restore.ts',
    from: 'Date.parse(confirmed) > taken.getTime()',
    to: 'Date.parse(confirmed) < taken.getTime()',
    witness: { project: 'unit', file: 'src/operations/restore.test.ts', test: 'is refused with' },
  },
  {
    name: 'a snapshot applies an edit that waits',
    file: 'src/operations/snapshot.ts',
    from: '...rest } = applied ?? spec',
    to: '...rest } = spec',
    witness: {
      project: 'unit',
      file: 'src/operations/restore.test.ts',
      test: 'is saved while an edit waits',
    },
  },
  {
    name: 'the newest snapshot is removed',
    file: 'src/snapshots/retention.ts',
    from: 'Math.max(1, keep.last',
    to: 'Math.max(0, keep.last',
    witness: { project: 'unit', file: 'src/snapshots/retention.test.ts', test: 'even if no rule keeps it' },
  },
  {
    name: 'a Job sees the snapshots of all clusters',
    file: 'src/installer/job/manifest.ts',
    from: ', subPath: clusterId }',
    to: ' }',
    witness: {
      project: 'unit',
      file: 'src/installer/job/manifest.test.ts',
      test: 'mounts the folder of its own cluster only',
    },
  },
  {
    name: 'an edit that waits costs the scheduled snapshot',
    file: 'src/controller/cluster/decide/rest/signal.ts',
    from: "if (isSnapshotDue(snapshot)) return 'snapshot-due';",
    to: '',
    witness: {
      project: 'unit',
      file: 'src/controller/cluster/decide/rest/scheduled-snapshot.test.ts',
      test: 'requests one also while an edit waits',
    },
  },
  {
    name: 'removed APIs are not reported before an upgrade',
    file: 'src/precheck/checks/upgrade.ts',
    from: 'minorOf(removed) > minorOf(upgradeTo)',
    to: 'minorOf(removed) >= minorOf(upgradeTo)',
    witness: { project: 'unit', file: 'src/precheck/upgrade.test.ts', test: 'reports' },
  },
  {
    name: 'a restore needs no right to the kubeconfig',
    file: 'src/webhook/admit/kubernetes-cluster.ts',
    from: 'if (!findOperation(operationAsked(operationValueOf(next)))?.needsKubeconfig) return false;',
    to: 'if (next) return false;',
    witness: {
      project: 'api',
      file: 'src/webhook/ruling.api.test.ts',
      test: 'for a restore, and for another key',
    },
  },
  {
    name: 'another key of snapshots needs no right to the kubeconfig',
    file: 'src/access/permissions.ts',
    from: '!before || before.etcdSnapshots?.secret === after.etcdSnapshots?.secret',
    to: '!before || after',
    witness: {
      project: 'api',
      file: 'src/webhook/ruling.api.test.ts',
      test: 'for a restore, and for another key',
    },
  },
  {
    name: 'the key of a Secret for snapshots may change',
    file: 'src/controller/cluster/state/snapshot-access.ts',
    from: 'pinned.recipient !== recipient',
    to: "pinned.recipient === ''",
    witness: {
      project: 'api',
      file: 'src/controller/cluster/state/snapshot-access.api.test.ts',
      test: 'does not use another key',
    },
  },
  {
    name: 'each attempt to create the Secret for snapshots has a key of its own',
    file: 'src/controller/cluster/state/cluster-state.ts',
    from: 'if (known) return known;',
    to: 'if (known?.identity === undefined && known) return known;',
    witness: {
      project: 'api',
      file: 'src/controller/cluster/state/snapshot-access.api.test.ts',
      test: 'gives every attempt to create the Secret the same key',
    },
  },
  {
    name: 'one read that misses the Secret for snapshots ends the operation',
    file: 'src/controller/cluster/state/snapshot-access.ts',
    from: 'let secret = (await find()) ?? (await find());',
    to: 'let secret = await find();',
    witness: {
      project: 'api',
      file: 'src/controller/cluster/state/snapshot-access.api.test.ts',
      test: 'makes no new key because one read missed the Secret',
    },
  },
  {
    name: 'a snapshot counts before it is verified',
    file: 'src/snapshots/save.ts',
    from: 'const files = named(SUFFIX).filter(({ name }) => !unverified.has(name));',
    to: 'const files = named(SUFFIX);',
    witness: {
      project: 'api',
      file: 'test/conformance/etcd-snapshots.test.ts',
      test: 'does not count a snapshot of a run that ended',
    },
  },
  {
    name: 'a snapshot is saved without a key of the cluster',
    file: 'src/snapshots/authorities.ts',
    from: 'if (lacking.size > 0)',
    to: 'if (lacking.size > 99)',
    witness: {
      project: 'api',
      file: 'test/conformance/etcd-snapshots.test.ts',
      test: 'neither saves nor loads a snapshot without',
    },
  },
  {
    name: 'a snapshot is read from a member that lags behind',
    file: 'src/ansibleinit/live-etcd.ts',
    from: 'if (!rangeSchema.safeParse(JSON.parse(read)).success)',
    to: "if (read === '')",
    witness: {
      project: 'unit',
      file: 'src/ansibleinit/live-etcd.test.ts',
      test: 'does not read from a member that',
    },
  },
  {
    name: 'a failed restore leaves the cluster up to date',
    file: 'src/controller/cluster/decide/status/status.ts',
    from: "new Set(['delete', 'restore', 'reconfigure'])",
    to: "new Set(['delete', 'reconfigure'])",
    witness: {
      project: 'unit',
      file: 'src/controller/cluster/decide/status/after-snapshot.test.ts',
      test: 'that has failed',
    },
  },
  {
    name: 'an edit that waits is done when a snapshot ends',
    file: 'src/controller/cluster/decide/status/status.ts',
    from: " && operation.name !== 'snapshot';",
    to: ';',
    witness: {
      project: 'unit',
      file: 'src/controller/cluster/decide/status/after-snapshot.test.ts',
      test: 'does not say so while an edit waits',
    },
  },
  {
    name: 'a clock that was ahead stops scheduled snapshots',
    file: 'src/controller/cluster/decide/rest/scheduled-snapshot.ts',
    from: 'const known = times.filter((time) => !isAhead(time));',
    to: 'const known = times;',
    witness: {
      project: 'unit',
      file: 'src/controller/cluster/decide/rest/scheduled-snapshot.test.ts',
      test: 'only a clock which was ahead has named',
    },
  },
  {
    name: 'former data goes before a later restore has succeeded',
    file: 'ansible/roles/restore/files/finish.sh',
    from: '-gt "$last" ] || rm',
    to: '-gt "$SEQUENCE" ] || rm',
    witness: {
      project: 'unit',
      file: 'test/roles/former-data.test.ts',
      test: 'keeps the original data through attempts',
    },
  },
  {
    name: 'encryption at rest is changed as a setting',
    file: 'src/operations/changes.ts',
    from: 'FIXED_SETTINGS.includes(field) ||',
    to: '',
    witness: {
      project: 'unit',
      file: 'src/operations/infer.test.ts',
      test: 'of changed settings, refuses some',
    },
  },
];
