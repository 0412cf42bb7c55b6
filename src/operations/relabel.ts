import { type ClusterHost, isMaster } from '#api/cluster-host.ts';
import { canonicalIp, type HostEntry, type ListName } from '#api/host.ts';
import { type HostRecord, stateOf } from '#api/host-record.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { PlannedHost } from '#protocol/run-spec.ts';
import { onlyChanges } from './changes.ts';
import { named, type Operation } from './operation.ts';
import { type Edit, editRequest, hostList, required, retryField } from './request.ts';

const metadataOf = ({ labels = {}, taints = [] }: Pick<ClusterHost, 'labels' | 'taints'>): string =>
  canonicalJson([labels, taints]);
const isMarkedOtherwise = (host: ClusterHost, { spec }: HostRecord): boolean =>
  metadataOf(host) !== metadataOf(spec);
const worksThrough = ({ member: host, action }: PlannedHost): boolean => isMaster(host) && action !== 'leave';

/** Returns a list in which the given hosts have their new labels and taints; fields that are left out stay. */
function marked(list: ListName, present: readonly HostEntry[] = [], given: readonly HostEntry[] = []): Edit {
  const addressOf = ({ ip }: HostEntry): string => canonicalIp(ip) ?? ip;
  const wanted = new Map(given.map((host) => [addressOf(host), host]));
  const known = new Set(present.map(addressOf));
  const problems = given.flatMap((host, index) =>
    known.has(addressOf(host))
      ? []
      : [
          {
            field: `spec.cluster.${list}[${index}].ip`,
            value: host.ip,
            reason: 'is not a host of this list',
          },
        ],
  );
  const hosts = present.map((host): HostEntry => {
    const { labels = host.labels, taints = host.taints } = wanted.get(addressOf(host)) ?? {};
    return { ...host, ...(labels ? { labels } : {}), ...(taints ? { taints } : {}) };
  });
  return { change: given.length > 0 ? { [list]: hosts } : {}, problems };
}

/** Sets the labels and taints of nodes to those of `spec`, and removes those that it no longer has. */
export const relabel = {
  ...named('relabel'),
  summary: 'Change labels and taints of nodes',
  phase: 'Maintaining',
  ends: 'Running',
  request: editRequest({
    route: 'relabel',
    description: 'Takes the hosts whose labels or taints change, each with all that it shall have.',
    fields: {
      masterList: hostList('Control plane hosts that change.'),
      nodeList: hostList('Workers that change.'),
      retry: retryField,
    },
    example: { nodeList: [{ ip: '192.0.2.12', labels: { 'example.com/rack': 'r1' } }] },
    edit({ spec }, { masterList, nodeList, retry }) {
      if (!masterList && !nodeList) return { change: {}, problems: retry ? [] : [required('nodeList')] };
      const masters = marked('masterList', spec.cluster.masterList, masterList);
      const workers = marked('nodeList', spec.cluster.nodeList, nodeList);
      return {
        change: { ...masters.change, ...workers.change },
        problems: [...masters.problems, ...workers.problems],
      };
    },
  }),
  mayChange: ['labels'],
  declared: 'starts',
  planning: {
    named(host, record) {
      if (!record || stateOf(record) !== 'Joined') return undefined;
      if (isMarkedOtherwise(host, record)) return 'change';
      return isMaster(host) ? 'stay' : undefined;
    },
    unnamed: () => undefined,
    // Any control plane can label nodes.
    mayBeAway: () => true,
    steps: [
      { name: 'Take the control plane', works: worksThrough, pace: 'all', cut: 'between' },
      { name: 'Label nodes', works: worksThrough, pace: 'one', cut: 'between' },
    ],
  },
  check: (situation) => onlyChanges(['labels'], situation),
} satisfies Operation;
