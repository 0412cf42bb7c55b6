/** Decides what a probe means: each file maps the findings of a probe to one condition. No I/O. */

import type { Stated } from '#api/conditions.ts';
import type { Verdict } from '../../decide/snapshot.ts';
import { judgePresence } from './absence.ts';
import { firstEnd, judgeCertificates } from './certificates.ts';
import { judgeDrift } from './drift.ts';
import { judgeEtcd } from './etcd.ts';
import type { Expected, Seen, ServerSeen } from './seen.ts';
import { isAre, named, stated } from './wording.ts';

/**
 * Decides all conditions of a cluster with these hosts. Messages contain no times, and no figures that change by themselves.
 */
export function judge(seen: Seen, hosts: readonly Expected[], now: Date): Verdict {
  const etcd = judgeEtcd(seen, hosts);
  const certificates = judgeCertificates(seen, hosts, now);
  const certificatesEnd = firstEnd(seen, hosts);
  const { nodes } = seen;
  return {
    conditions: [
      judgeReady(seen, etcd),
      judgeHosts(seen, hosts),
      judgeControlPlane(seen),
      etcd,
      judgePresence(seen, hosts),
      judgeDrift(seen, hosts),
      ...(certificates ? [certificates] : []),
    ],
    ...(certificatesEnd ? { certificatesEnd } : {}),
    ...(nodes ? { nodes: { ready: nodes.filter(({ ready }) => ready).length, total: nodes.length } } : {}),
  };
}

/** Decides `Ready`. True: an API server is ready, which requires etcd, and nothing shows that etcd refuses writes. */
function judgeReady({ blind, servers, writesRefused }: Seen, etcd: Stated): Stated {
  if (blind) return stated('Ready', 'Unknown', blind.reason, blind.message);
  if (writesRefused) return stated('Ready', 'False', etcd.reason, etcd.message);
  if (servers.some(({ state }) => state === 'ready'))
    return stated('Ready', 'True', 'Healthy', 'an API server answers, and etcd has a quorum');
  if (servers.every(({ state }) => state === 'refusing')) return refused('Ready');
  if (etcd.reason === 'QuorumLost') return stated('Ready', 'False', etcd.reason, etcd.message);
  return stated('Ready', 'False', 'ControlPlaneUnavailable', `no API server is ready: ${reported(servers)}`);
}

function judgeControlPlane({ blind, servers }: Seen): Stated {
  const type = 'ControlPlaneHealthy';
  if (blind) return stated(type, 'Unknown', blind.reason, blind.message);
  const unwell = servers.filter(({ state }) => state !== 'ready');
  if (unwell.length === 0) return stated(type, 'True', 'AllReady', 'every API server is ready');
  if (servers.every(({ state }) => state === 'refusing')) return refused(type);
  const reason = unwell.length === servers.length ? 'NoneReady' : 'Degraded';
  const count = `${unwell.length} of ${servers.length} API servers ${isAre(unwell.length)} not ready`;
  return stated(type, 'False', reason, `${count}: ${reported(unwell)}`);
}

const refused = (type: string): Stated =>
  stated(type, 'Unknown', 'CredentialsRefused', "the API servers refuse the kubeconfig's credentials");

/** Returns how each server fails, in the order of their addresses. */
function reported(servers: readonly ServerSeen[]): string {
  const texts = servers.map(({ ip, state, failed = [] }) => {
    const checks = failed.length > 0 ? ` (failed: ${failed.join(', ')})` : '';
    return `${ip} ${SAYS[state]}${checks}`;
  });
  return named(texts);
}

const SAYS: Readonly<Record<ServerSeen['state'], string>> = {
  ready: 'is ready',
  'not-ready': 'is not ready',
  silent: 'does not answer',
  untrusted: "shows a certificate that the kubeconfig's authority has not signed for it",
  expired: 'shows a certificate that has expired',
  refusing: 'refuses the credentials',
};

function judgeHosts({ blind, nodes }: Seen, hosts: readonly Expected[]): Stated {
  const type = 'HostsReachable';
  if (blind) return stated(type, 'Unknown', blind.reason, blind.message);
  if (!nodes) return stated(type, 'Unknown', 'NotObserved', 'no API server reports its nodes');
  // The operation reports a host that joins or leaves.
  const moving = new Set(hosts.filter(({ joined }) => !joined).map(({ name }) => name));
  const away = nodes
    .filter(({ name, ready }) => !ready && !moving.has(name))
    .map(({ name, silent }) => (silent ? `${name} (its lease is not renewed)` : name));
  const there = new Set(nodes.map(({ name }) => name));
  const missing = hosts
    .filter((host) => host.joined && host.hasNode && !there.has(host.name))
    .map(({ ip, name }) => `${name} (${ip})`);
  if (away.length === 0 && missing.length === 0)
    return stated(type, 'True', 'AllReady', 'the kubelet of every host reports that its node is Ready');
  const said = [
    ...(away.length > 0 ? [`${nodesOf(away.length)} not Ready: ${named(away)}`] : []),
    ...(missing.length > 0
      ? [
          `${missing.length} ${missing.length === 1 ? 'host has' : 'hosts have'} no node in the cluster: ${named(missing)}`,
        ]
      : []),
  ];
  return stated(type, 'False', away.length > 0 ? 'NodeNotReady' : 'NodeMissing', said.join('; '));
}

const nodesOf = (count: number): string => `${count} ${count === 1 ? 'node is' : 'nodes are'}`;
