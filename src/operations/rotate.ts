import { clusterHostsOf, isEtcdOnly, isMaster } from '#api/cluster-host.ts';
import { stateOf } from '#api/host-record.ts';
import type { Problem } from '#base/errors.ts';
import type { PlannedHost } from '#protocol/run-spec.ts';
import { onlyChanges } from './changes.ts';
import { named, type Operation } from './operation.ts';
import type { Situation } from './plan-for.ts';
import { editRequest, retryField } from './request.ts';

const isControlPlane = ({ member: host }: PlannedHost): boolean => isMaster(host);
const TOGETHER = { works: isControlPlane, pace: 'all', cut: 'between' } as const;
const ONE_BY_ONE = { works: isControlPlane, pace: 'one', cut: 'never' } as const;

/** Refuses to leave out an API server: it would refuse new tokens, and encrypt by a key that the others forget. */
function leftOut({ spec, hosts }: Situation): Problem[] {
  const wanted = clusterHostsOf(spec.cluster);
  return hosts
    .filter(
      (record) => isMaster(record.spec) && (stateOf(record) !== 'Held' || record.status?.touched === true),
    )
    .filter((record) => stateOf(record) !== 'Joined' || !wanted.has(record.spec.ip))
    .map((record) => ({
      field: 'spec.cluster.masterList',
      value: record.spec.ip,
      reason: `control plane ${record.spec.ip} is ${stateOf(record)}, and its API server may run with the former keys; finish the operation that adds or removes it first`,
    }));
}

/**
 * Replaces the key that signs tokens of ServiceAccounts, and the key that encrypts Secrets. All API servers accept a new key
 * before the first one uses it, and tokens by the former key stay valid until the next rotation (kubernetes.io, Encrypting
 * Confidential Data at Rest; kube-apiserver, --service-account-key-file). Kubelets restart, so that pods get tokens by the new
 * key at once, and the next rotation refuses only those of hosts that are away.
 */
export const rotate = {
  ...named('rotate'),
  summary: 'Rotate keys',
  phase: 'Maintaining',
  ends: 'Running',
  request: editRequest({
    route: 'rotate',
    description:
      'Replaces the key that signs tokens of ServiceAccounts, and the key that encrypts Secrets. An unfinished rotation is finished.',
    fields: { retry: retryField },
    example: {},
    edit: () => ({ change: {}, problems: [] }),
  }),
  mayChange: [],
  brings: [],
  planning: {
    // A control plane that is away would later refuse tokens by a key that it does not know.
    named: (host, record) => {
      if (!record || stateOf(record) !== 'Joined') return undefined;
      return isEtcdOnly(host) ? 'stay' : 'change';
    },
    unnamed: () => undefined,
    // Pods of a worker that is away keep their tokens, until its kubelet renews them.
    mayBeAway: (host) => !isMaster(host),
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      { ...TOGETHER, name: 'Check control planes' },
      { ...TOGETHER, name: 'Make keys', pace: 'one' },
      { ...TOGETHER, name: 'Share keys' },
      { ...ONE_BY_ONE, name: 'Accept new keys' },
      { ...ONE_BY_ONE, name: 'Use new keys' },
      { ...TOGETHER, name: 'Encrypt Secrets', pace: 'one' },
      {
        name: 'Restart kubelets',
        works: ({ action }) => action === 'change',
        pace: ({ cluster }) => ({ atMost: cluster.upgrade?.maxUnavailable ?? 1 }),
        cut: 'never',
      },
      { ...TOGETHER, name: 'Forget former keys' },
    ],
  },
  check: (situation) => [...onlyChanges([], situation), ...leftOut(situation)],
} satisfies Operation;
