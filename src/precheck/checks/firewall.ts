import type { AskedHost, Check, HostRole } from '../check.ts';
import { error, fine } from '../check.ts';

/** Maximum number of probes of one host: they run in parallel, and the whole answer has a time limit. */
const MOST = 24;
const PROBE_SECONDS = 4;

const JOINING: readonly HostRole[] = ['control-plane', 'worker', 'etcd'];
const joins = ({ role }: AskedHost): boolean => JOINING.includes(role);
const isControlPlane = (host: AskedHost): boolean =>
  host.role === 'control-plane' || (host.role === 'present' && host.isMaster === true);
const isNode = (host: AskedHost): boolean =>
  host.role === 'worker' || isControlPlane(host) || (host.role === 'present' && host.withEtcd !== true);
const hasEtcd = (host: AskedHost): boolean => host.role !== 'leaving' && host.withEtcd === true;

/** Returns the ports of `to` that `from` needs (kubernetes.io, Ports and Protocols). */
function portsBetween(from: AskedHost, to: AskedHost): number[] {
  const ports: number[] = [];
  // With a balancer of the site, a node needs no direct connection. Before the API servers run, the balancer need not
  // answer.
  if (isControlPlane(to) && isNode(from) && !from.behindBalancer) ports.push(6443);
  if (isControlPlane(from) && isNode(to)) ports.push(10250);
  if (hasEtcd(to) && isControlPlane(from)) ports.push(2379);
  if (hasEtcd(to) && hasEtcd(from)) ports.push(2379, 2380);
  return [...new Set(ports)];
}

/**
 * Returns the probes of a host, `ADDRESS PORT` each, for pairs of which one host joins. If there are too many, control
 * planes share the nodes: each begins at a different node.
 */
export function probesOf(host: AskedHost, all: readonly AskedHost[]): string[] {
  if (host.role === 'leaving') return [];
  const others = all.filter((to) => to.ip !== host.ip && to.role !== 'leaving' && (joins(host) || joins(to)));
  const pairs = others.map((to) => portsBetween(host, to).map((port) => `${to.ip} ${port}`));
  const first = pairs.flatMap((probes) => probes.filter((probe) => !probe.endsWith(' 10250')));
  const kubelets = pairs.flatMap((probes) => probes.filter((probe) => probe.endsWith(' 10250')));
  const controlPlanes = all.filter(isControlPlane);
  const mine = Math.max(
    0,
    controlPlanes.findIndex(({ ip }) => ip === host.ip),
  );
  const start = Math.floor((mine * kubelets.length) / Math.max(1, controlPlanes.length));
  return [...first, ...kubelets.slice(start), ...kubelets.slice(0, start)].slice(0, MOST);
}

/**
 * Script of the probes. Joining hosts have no listeners yet, so a refused port is reachable. A silent port is tried twice: a
 * busy host may not even have begun in that time.
 */
const script = `command -v bash >/dev/null && command -v timeout >/dev/null || exit 0
set -f; set -- \${PROBES:-}
while [ $# -ge 2 ]; do
  (
    ask() { said=$(timeout ${PROBE_SECONDS} bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$1" "$2" 2>&1); }
    ask "$1" "$2"; code=$?
    [ $code != 124 ] || { ask "$1" "$2"; code=$?; }
    case $code,$said in 0,* | *refused*) ;; 124,*) say silent "$1 $2" ;; *) say silent "$1 $2 \${said##*: }" ;; esac
  ) &
  shift 2
done
wait`;

/** Finds firewalls between hosts, separately for each direction: a host probes the ports of others that it will need. */
export const firewall: Check = {
  name: 'firewall',
  waits: true,
  variables: (host, all) => ({ PROBES: probesOf(host, all).join(' ') }),
  script: () => script,
  good: '',
  check({ host, all }) {
    // A host that is away answers on no port, and is reported separately.
    const answered = new Set(all.map(({ ip }) => ip));
    const ports = new Map<string, string[]>();
    for (const line of host.said.all('silent')) {
      const [ip = '', port = ''] = line.split(' ');
      if (answered.has(ip)) ports.set(port, [...(ports.get(port) ?? []), ip].sort());
    }
    if (ports.size === 0) return fine;
    const missed = [...ports]
      .sort(([a], [b]) => Number(a) - Number(b))
      .map(([port, ips]) => `TCP ${port} of ${ips.join(', ')}`);
    return error(
      `packets from here do not reach ${missed.join('; ')}; let ${host.ip} through in the firewalls of these hosts and on the way, or correct the routes`,
    );
  },
};
