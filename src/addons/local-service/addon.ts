/** Creates a Service for each node that a LocalService selects, and labels pods with their node. */

import { NODES, type Node, PODS, type Pod, SERVICES, type Service } from '#api/core.ts';
import type { ObjectMeta } from '#api/meta.ts';
import type { ControllerModule } from '#runtime/process/controller-host.ts';
import type { Addon } from '../addon.ts';
import { changesOnlyLabel, isOwned } from '../write-limits.ts';
import { LOCAL_SERVICES, type LocalService, localServiceCrd, RACK_LABEL } from './api.ts';
import { BY_OWNER, localServiceController } from './controller.ts';
import { rackController } from './pods.ts';

/** Returns the metadata that caches keep. A cluster may have thousands of pods, with much that is not needed here. */
const slim = ({ namespace, name, uid, resourceVersion, labels }: ObjectMeta): ObjectMeta => ({
  ...(namespace === undefined ? {} : { namespace }),
  ...(name === undefined ? {} : { name }),
  ...(uid === undefined ? {} : { uid }),
  ...(resourceVersion === undefined ? {} : { resourceVersion }),
  ...(labels === undefined ? {} : { labels }),
});
const slimNode = ({ metadata }: Node): Node => ({ metadata: slim(metadata) });
const slimPod = ({ metadata, spec: { nodeName } = {} }: Pod): Pod => ({
  metadata: slim(metadata),
  spec: nodeName === undefined ? {} : { nodeName },
});

const byOwner = ({ metadata }: Service): string[] =>
  (metadata.ownerReferences ?? []).filter(({ controller }) => controller).map(({ uid }) => uid);

/** Runs the controllers of kind LocalService: Services for the pods of one node each, and the pod label behind them. */
const module: ControllerModule = (host) => {
  const localServices = host.informer<LocalService>(LOCAL_SERVICES);
  const nodes = host.informer<Node>(NODES, { transform: slimNode });
  const pods = host.informer<Pod>(PODS, {
    transform: slimPod,
    selection: { fieldSelector: 'spec.nodeName!=' },
  });
  const services = host.informer<Service>(SERVICES, { indexers: { [BY_OWNER]: byOwner } });
  return [
    localServiceController({ ...host, localServices, nodes, services }),
    rackController({ ...host, localServices, pods }),
  ];
};

const { group, kind, plural } = LOCAL_SERVICES;
export const localService: Addon = {
  name: 'localservice',
  summary: 'LocalService: a Service for each node, which leads to the pods there',
  module,
  crds: [localServiceCrd],
  rules: [
    { apiGroups: [group], resources: [plural], verbs: ['list', 'watch'] },
    { apiGroups: [group], resources: [`${plural}/status`], verbs: ['update'] },
    // An owner reference needs the right to set the owner's finalizers (OwnerReferencesPermissionEnforcement).
    { apiGroups: [group], resources: [`${plural}/finalizers`], verbs: ['update'] },
    { apiGroups: [''], resources: ['services'], verbs: ['list', 'watch', 'create', 'update', 'delete'] },
    { apiGroups: [''], resources: ['nodes'], verbs: ['list', 'watch'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch', 'patch'] },
  ],
  writeLimits: [
    {
      apiGroup: '',
      resource: 'pods',
      operations: ['CREATE', 'UPDATE'],
      expression: `oldObject != null && ${changesOnlyLabel(RACK_LABEL)}`,
      message: `the controller of LocalServices writes nothing of a pod but label ${RACK_LABEL}`,
    },
    {
      apiGroup: '',
      resource: 'services',
      operations: ['CREATE', 'UPDATE', 'DELETE'],
      expression: `(object == null || ${isOwned('object', group, kind)}) && (oldObject == null || ${isOwned('oldObject', group, kind)})`,
      message: 'the controller of LocalServices writes no Service that belongs to none of them',
    },
  ],
};
