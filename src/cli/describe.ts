import { clusterHostsOf } from '#api/cluster-host.ts';
import { ageOf, spanOf } from '#base/time-span.ts';
import { listClusterHosts } from '#rest/hosts.ts';
import { type Cluster, clusterNamed } from './clusters.ts';
import { problemsOf } from './doctor.ts';
import type { Io } from './io.ts';
import { tableOf } from './output.ts';
import { type ConnectionOptions, withSession } from './session.ts';

function facts(cluster: Cluster, now: Date): [string, string | undefined][] {
  const { metadata, spec, status } = cluster;
  const { operation, nodes, certificatesExpire, etcdSnapshots } = status;
  const [newest] = etcdSnapshots?.stored ?? [];
  const left = certificatesExpire === undefined ? Number.NaN : Date.parse(certificatesExpire) - now.getTime();
  return [
    ['Name', metadata.name],
    ['Namespace', metadata.namespace],
    ['Region', spec.cluster.region],
    ['Age', ageOf(metadata.creationTimestamp, now)],
    ['Phase', status.phase],
    ['Summary', status.summary],
    ['To do', problemsOf(cluster)[0]?.fix],
    ['Paused', spec.paused === true ? 'yes; "matryoshka resume" lets operations start' : undefined],
    ['Version', status.version],
    ['Nodes', nodes === undefined ? undefined : `${nodes.ready} of ${nodes.total} ready`],
    [
      'Certificates',
      Number.isNaN(left)
        ? undefined
        : left < 0
          ? `expired ${spanOf(-left)} ago; "matryoshka renew ${metadata.name}" renews them`
          : `expire in ${spanOf(left)} (${certificatesExpire})`,
    ],
    ['Newest snapshot', newest ? `${newest.name}, ${ageOf(newest.createdAt, now)} ago` : undefined],
    ['Operation', operation ? operationText(operation, now) : undefined],
  ];
}

function operationText(operation: NonNullable<Cluster['status']['operation']>, now: Date): string {
  const { name, id, result, step, startedAt, endedAt, requestedBy } = operation;
  const by = requestedBy === undefined ? '' : `, requested by ${requestedBy}`;
  return result === undefined
    ? `${name} (${id}) at step "${step}", running for ${ageOf(startedAt, now)}${by}`
    : `${name} (${id}) ${result} ${ageOf(endedAt, now)} ago${by}`;
}

/** Returns the rows of hosts that the cluster names, and that no operation has taken yet. */
const namedOnly = ({ spec: { cluster } }: Cluster, taken: ReadonlySet<string>): string[][] =>
  [...clusterHostsOf(cluster).values()]
    .filter(({ ip }) => !taken.has(ip))
    .map(({ ip, name, duties }) => [ip, name, duties.join(','), 'not taken', '', '']);

/** Prints what is known of a cluster: its state, hosts and conditions. */
export function describe(name: string, options: ConnectionOptions, io: Io): Promise<void> {
  return withSession(options, async (session) => {
    const { cluster, address } = await clusterNamed(session, name);
    const { items: hosts } = await session.call(listClusterHosts, address);
    const now = io.clock.now();
    const known = facts(cluster, now).filter(([, value]) => value !== undefined && value !== '');
    const sections = [
      tableOf(
        [],
        known.map(([head, value]) => [`${head}:`, value ?? '']),
      ).trimStart(),
      [
        'Hosts:',
        tableOf(
          ['HOST', 'NAME', 'DUTIES', 'STATE', 'LAST OPERATION', 'MESSAGE'],
          [
            ...hosts.map(({ ip, name: node, duties, state, lastRun }) => [
              ip,
              node,
              duties.join(','),
              cluster.status.hosts.find((host) => host.ip === ip)?.state ?? state,
              lastRun ? `${lastRun.operation} ${lastRun.ok ? 'ok' : 'failed'}` : '',
              cluster.status.hosts.find((host) => host.ip === ip)?.message ?? lastRun?.message ?? '',
            ]),
            ...namedOnly(cluster, new Set(hosts.map(({ ip }) => ip))),
          ],
        ),
      ].join('\n'),
      [
        'Conditions:',
        tableOf(
          ['TYPE', 'STATUS', 'REASON', 'SINCE', 'MESSAGE'],
          cluster.status.conditions.map(({ type, status, reason, lastTransitionTime, message }) => [
            type,
            status,
            reason,
            ageOf(lastTransitionTime, now),
            message,
          ]),
        ),
      ].join('\n'),
    ];
    io.print(sections.join('\n\n'));
  });
}
