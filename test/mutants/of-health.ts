import type { Mutant, Witness } from './mutant.ts';

const HEALTH = 'src/controller/cluster/health';
const unit = (file: string, test: string): Witness => ({ project: 'unit', file, test });
const seen = (test: string): Witness => ({ project: 'api', file: 'test/conformance/health.test.ts', test });

/** Conditions of created clusters, and the probes that the operator trusts. */
export const ofHealth: readonly Mutant[] = [
  {
    name: 'certificates that only their host shows do not count',
    file: `${HEALTH}/judge/certificates.ts`,
    from: 'reports.get(name)?.[what]',
    to: "reports.get('')?.[what]",
    witness: unit(`${HEALTH}/judge/judge.test.ts`, 'finds when the first certificate ends'),
  },
  {
    name: 'a renewal that failed is requested again at once',
    file: 'src/controller/cluster/decide/rest/auto-renew.ts',
    from: "Date.parse(time ?? '') + pause",
    to: "Date.parse(time ?? '')",
    witness: unit(
      'src/controller/cluster/decide/rest/auto-renew.test.ts',
      'waits most of a day after the last request',
    ),
  },
  {
    name: 'a renewal begins without the key of an authority',
    file: 'ansible/roles/renew/files/check.sh',
    from: 'for file in $authority.crt $authority.key; do',
    to: 'for file in $authority.crt; do',
    witness: unit('test/roles/renew-check.test.ts', 'refuses a control plane without'),
  },
  {
    name: 'one failed look is a fact',
    file: `${HEALTH}/judge/debounce.ts`,
    from: "if (!last || last.status === 'True') return false;",
    to: "if (last?.status === 'Unknown') return false;",
    witness: unit(`${HEALTH}/judge/debounce.test.ts`, 'reports a condition'),
  },
  {
    name: 'a dead API server hides the others',
    file: `${HEALTH}/probe.ts`,
    from: 'while (awaited.size > 0 && !reported.nodes) {',
    to: 'while (awaited.size === coming.length && !reported.nodes) {',
    witness: unit(
      `${HEALTH}/probe.test.ts`,
      'uses an API server that is ready, although others are down or hang',
    ),
  },
  {
    name: 'an API server of another authority is believed',
    file: 'src/cluster-access/connection.ts',
    from: 'rejectUnauthorized: true',
    to: 'rejectUnauthorized: false',
    witness: unit(
      `${HEALTH}/probe.test.ts`,
      'gets no credentials if its certificate has another authority or address',
    ),
  },
  {
    name: 'an answer without end is gathered',
    file: 'src/cluster-access/connection.ts',
    from: 'if (length > maxBytes) throw',
    to: 'if (length < 0) throw',
    witness: unit(`${HEALTH}/probe.test.ts`, 'does not hold up the probe when it'),
  },
  {
    name: 'a silent kubelet is believed for ever',
    file: `${HEALTH}/questions.ts`,
    from: 'const silent = ready && stale.has(node);',
    to: 'const silent = ready && stale.size < 0;',
    witness: unit(`${HEALTH}/probe.test.ts`, 'counts a node as not Ready if its lease is old'),
  },
  {
    name: 'the system’s authorities count where the kubeconfig has none',
    file: 'src/cluster-access/access.ts',
    from: 'if (authority === undefined || !user) return undefined;',
    to: "if (!user) return undefined;\n    if (authority === undefined) return { ca: '', token: user.token };",
    witness: unit('src/cluster-access/access.test.ts', 'returns nothing for'),
  },
  {
    name: 'a copied cluster-id leads to the hosts of another',
    file: `${HEALTH}/expected.ts`,
    from: '.filter((record) => isOf(record, annotation) && !isFree(record))',
    to: '.filter((record) => annotation !== "" && !isFree(record))',
    witness: unit(
      `${HEALTH}/expected.test.ts`,
      'includes only hosts of the object itself, not of a copy with its id',
    ),
  },
  {
    name: 'a copied cluster-id shows the hosts of another',
    file: 'src/access/host-records.ts',
    from: 'items.filter((record) => isOf(record, textOf(keyOf(cluster))))',
    to: 'items',
    witness: unit(
      'src/access/host-records.test.ts',
      'hides the hosts of a cluster from a copy that has its cluster-id',
    ),
  },
  {
    name: 'a host that has left is missed for ever',
    file: `${HEALTH}/expected.ts`,
    from: '.filter((record) => isOf(record, annotation) && !isFree(record))',
    to: '.filter((record) => isOf(record, annotation) && isFree !== undefined)',
    witness: unit(`${HEALTH}/expected.test.ts`, 'expects a host that left only if it is taken again'),
  },
  {
    name: 'a restart forgets what was told',
    file: `${HEALTH}/observer.ts`,
    from: 'reported: { conditions: stated, ...(nodes ? { nodes } : {}) },',
    to: 'reported: { conditions: stated.slice(0, nodes ? 0 : 0) },',
    witness: seen('a restart changes nothing'),
  },
  {
    name: 'a cluster that is being deleted is looked at',
    file: 'src/controller/cluster/decide/status/health.ts',
    from: 'appliedOperation(cluster) !== undefined && cluster.metadata.deletionTimestamp === undefined;',
    to: 'appliedOperation(cluster) !== undefined;',
    witness: seen('probes other clusters while one hangs, and none that is being deleted'),
  },
];
