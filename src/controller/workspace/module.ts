import { PODS, VOLUME_CLAIMS } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import { CLOUD_IDE, WORKSPACES, type Workspace, workspaceCrd } from '#api/workspace.ts';
import type { ControllerModule } from '../host.ts';
import type { Neighbour } from '../neighbours.ts';
import { workspaceController } from './controller.ts';
import type { WorkspacePod } from './pod.ts';

const labelSelector = Object.entries(CLOUD_IDE)
  .map(([name, value]) => `${name}=${value}`)
  .join(',');

/** Development environments in pods, started and stopped: the kind Workspace. */
const module: ControllerModule = (host) => {
  const workspaces = host.informer<Workspace>(WORKSPACES);
  const pods = host.informer<WorkspacePod>(PODS, { selection: { labelSelector } });
  const claims = host.informer<KubeObject>(VOLUME_CLAIMS, { selection: { labelSelector } });
  return [workspaceController({ ...host, workspaces, pods, claims })];
};

const { group, plural } = WORKSPACES;
export const workspace: Neighbour = {
  name: 'workspace',
  summary: 'Workspace: a development environment in a pod, called over gRPC',
  module,
  crds: [workspaceCrd],
  rights: [
    { apiGroups: [group], resources: [plural], verbs: ['list', 'watch', 'patch', 'delete'] },
    { apiGroups: [group], resources: [`${plural}/status`], verbs: ['update'] },
    // To own an object is to be allowed to set its owner's finalizers (OwnerReferencesPermissionEnforcement).
    { apiGroups: [group], resources: [`${plural}/finalizers`], verbs: ['update'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch', 'create', 'delete'] },
    { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get', 'list', 'watch', 'create'] },
    { apiGroups: [''], resources: ['events'], verbs: ['list'] },
  ],
  server: {
    command: 'workspace-server',
    port: 6387,
    rights: [
      {
        apiGroups: [group],
        resources: [plural],
        verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
      },
      { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
      { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
    ],
  },
};
