/**
 * Runs development environments in pods for Workspaces. The controller keeps pods and volumes; `server` is the gRPC server
 * for clients.
 */

import { PODS, VOLUME_CLAIMS } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import type { ControllerModule } from '#runtime/process/controller-host.ts';
import type { Addon } from '../addon.ts';
import { isOwned } from '../write-limits.ts';
import { CLOUD_IDE, WORKSPACES, type Workspace, workspaceCrd } from './api.ts';
import { workspaceController } from './controller/controller.ts';
import type { WorkspacePod } from './controller/pod.ts';

const labelSelector = Object.entries(CLOUD_IDE)
  .map(([name, value]) => `${name}=${value}`)
  .join(',');

/** Runs the controller of kind Workspace: development environments in pods, which start and stop. */
const module: ControllerModule = (host) => {
  const workspaces = host.informer<Workspace>(WORKSPACES);
  const pods = host.informer<WorkspacePod>(PODS, { selection: { labelSelector } });
  const claims = host.informer<KubeObject>(VOLUME_CLAIMS, { selection: { labelSelector } });
  return [workspaceController({ ...host, workspaces, pods, claims })];
};

const IS_CONFINED = [
  '!has(c.envFrom)',
  '(!has(c.env) || c.env.all(e, !has(e.valueFrom)))',
  // With this, the API server rejects `privileged` and CAP_SYS_ADMIN.
  'c.?securityContext.?allowPrivilegeEscalation.orValue(true) == false',
  'c.?securityContext.?capabilities.?drop.orValue([]).exists(one, one == "ALL")',
  '!has(c.securityContext.capabilities.add)',
  '!has(c.securityContext.runAsUser)',
  '!has(c.securityContext.runAsNonRoot)',
  '!has(c.securityContext.procMount)',
  '!has(c.securityContext.seLinuxOptions)',
  '!has(c.securityContext.seccompProfile)',
  '!has(c.securityContext.appArmorProfile)',
  '(!has(c.ports) || c.ports.all(p, p.?hostPort.orValue(0) == 0))',
  // The kubelet would send requests to other hosts from the node's own network.
  '!has(c.lifecycle)',
  '!has(c.livenessProbe)',
  '!has(c.startupProbe)',
  'c.?readinessProbe.?tcpSocket.?host.orValue("") == ""',
  'c.?readinessProbe.?httpGet.?host.orValue("") == ""',
].join(' && ');
/** CEL for pods of Workspaces (pod.ts): no spec gives a pod a Secret, a token or a part of the node. */
const IS_HARMLESS = [
  'object.spec.?automountServiceAccountToken.orValue(true) == false',
  'object.spec.?serviceAccountName.orValue("default") == "default"',
  'object.spec.volumes.all(v, has(v.emptyDir) || (has(v.persistentVolumeClaim) && v.persistentVolumeClaim.claimName == object.metadata.name))',
  '!has(object.spec.initContainers)',
  `object.spec.containers.all(c, ${IS_CONFINED})`,
  'object.spec.?securityContext.?runAsNonRoot.orValue(false)',
  'object.spec.?securityContext.?runAsUser.orValue(0) != 0',
  '!has(object.spec.securityContext.windowsOptions)',
  '!has(object.spec.securityContext.seLinuxOptions)',
  '!has(object.spec.securityContext.appArmorProfile)',
  'object.spec.?securityContext.?seccompProfile.?type.orValue("") == "RuntimeDefault"',
  '!has(object.spec.resourceClaims)',
  '!has(object.spec.nodeName)',
  'object.spec.?hostIPC.orValue(false) == false',
  'object.spec.?hostNetwork.orValue(false) == false',
  'object.spec.?hostPID.orValue(false) == false',
].join(' && ');

const { group, kind, plural } = WORKSPACES;
export const workspace: Addon = {
  name: 'workspace',
  summary: 'Workspace: a development environment in a pod, called over gRPC',
  module,
  crds: [workspaceCrd],
  rules: [
    { apiGroups: [group], resources: [plural], verbs: ['list', 'watch', 'patch', 'delete'] },
    { apiGroups: [group], resources: [`${plural}/status`], verbs: ['update'] },
    // An owner reference needs the right to set the owner's finalizers (OwnerReferencesPermissionEnforcement).
    { apiGroups: [group], resources: [`${plural}/finalizers`], verbs: ['update'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch', 'create', 'delete'] },
    { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get', 'list', 'watch', 'create'] },
    { apiGroups: [''], resources: ['events'], verbs: ['list'] },
  ],
  writeLimits: [
    {
      apiGroup: '',
      resource: 'pods',
      operations: ['CREATE', 'UPDATE', 'DELETE'],
      expression: [
        '(oldObject == null || object == null)',
        `(object == null || (${isOwned('object', group, kind)} && ${IS_HARMLESS}))`,
        `(oldObject == null || ${isOwned('oldObject', group, kind)})`,
      ].join(' && '),
      message:
        'the controller of Workspaces makes and deletes no pods but theirs, which mount their own volume and have no token',
    },
    {
      apiGroup: '',
      resource: 'persistentvolumeclaims',
      operations: ['CREATE'],
      expression: isOwned('object', group, kind),
      message: 'the controller of Workspaces makes no volumes but theirs',
    },
  ],
  server: {
    args: ['workspace-server'],
    ports: [{ name: 'grpc', port: 6387 }],
    hasCertificate: true,
    rules: [
      {
        apiGroups: [group],
        resources: [plural],
        verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
      },
      { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
      { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
    ],
  },
};
