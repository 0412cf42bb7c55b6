/** Creates bridges on hosts for Networks. The controller decides; `bridges` carries it out over SSH. */

import { randomUUID } from 'node:crypto';
import { shortHash } from '#base/canonical.ts';
import type { ControllerHost, ControllerModule } from '#runtime/process/controller-host.ts';
import type { Addon } from '../addon.ts';
import { NETWORKS, type Network, networkCrd } from './api.ts';
import { HostTrouble, type Provider } from './bridges/provider.ts';
import { sshProvider } from './bridges/ssh-provider.ts';
import { networkController } from './controller/controller.ts';
import { admission, servedNamespace } from './controller/rights.ts';

const RESYNC_MS = 60_000;
const NAMESPACES = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };
/** Namespace whose uid identifies the installation: every cluster has it, and it stays. */
const SYSTEM = 'kube-system';

/** Creates the SSH provider. Hosts belong to the installation in this cluster, whichever process is the leader. */
function overSsh({ client, clock, term }: ControllerHost): Provider {
  let owner: string | undefined;
  const alone = { since: Math.floor(clock.now().getTime() / 1000), number: 0 };
  return sshProvider({
    clock,
    process: randomUUID(),
    async holder() {
      const present = term ? term() : alone;
      if (!present) throw new HostTrouble('NotLeading', 'this process no longer leads');
      owner ??= `networks-${shortHash((await client.get(NAMESPACES, { namespace: '', name: SYSTEM })).metadata.uid ?? '')}`;
      return { owner, since: present.since, term: present.number };
    },
  });
}

/** Runs the controller of kind Network: bridges on hosts. */
export const networkModule =
  (options: { provider?: Provider; resyncMs?: number } = {}): ControllerModule =>
  (host) => [
    networkController({
      ...host,
      networks: host.informer<Network>(NETWORKS),
      provider: options.provider ?? overSsh(host),
      resyncMs: options.resyncMs ?? RESYNC_MS,
      random: Math.random,
    }),
  ];

const { group, plural } = NETWORKS;
export const network: Addon = {
  name: 'network',
  summary: 'Network: a bridge with a gateway on hosts, made over SSH',
  module: networkModule(),
  crds: [networkCrd],
  rules: [
    { apiGroups: [group], resources: [plural], verbs: ['get', 'list', 'watch', 'patch'] },
    { apiGroups: [group], resources: [`${plural}/status`], verbs: ['update'] },
    { apiGroups: [''], resources: ['namespaces'], resourceNames: [SYSTEM], verbs: ['get'] },
  ],
  writeLimits: [
    {
      apiGroup: group,
      resource: plural,
      operations: ['UPDATE'],
      expression: ['spec', 'metadata.?labels', 'metadata.?annotations', 'metadata.?ownerReferences']
        .map((path) => `object.${path} == oldObject.${path}`)
        .join(' && '),
      message: 'the controller of Networks writes nothing of a Network but its finalizers and status',
    },
  ],
  others: [servedNamespace, ...admission],
};
