import type { Pod } from '#api/core.ts';
import type { KubeObject, ObjectMeta } from '#api/meta.ts';
import { CLOUD_IDE, WORKSPACES, type Workspace } from '../api.ts';

/** Builds the pod and the volume of a Workspace. Both have its name and are removed with it. */

/** Pod with the port of its editor, because the Workspace's port may have changed since. */
export interface WorkspacePod extends Pod {
  spec?: NonNullable<Pod['spec']> & { containers?: { ports?: { containerPort: number }[] }[] };
}

const USER = 1000;
const MOUNT_PATH = '/workspace';
const VOLUME = 'workspace';

const metadataOf = ({ metadata: { name = '', namespace = '', uid = '' } }: Workspace): ObjectMeta => ({
  namespace,
  name,
  labels: { ...CLOUD_IDE },
  ownerReferences: [
    {
      apiVersion: `${WORKSPACES.group}/${WORKSPACES.version}`,
      kind: WORKSPACES.kind,
      name,
      uid,
      controller: true,
      blockOwnerDeletion: true,
    },
  ],
});

/** Returns the core/v1 PersistentVolumeClaim; undefined if the Workspace has no storage. */
export function claimOf(workspace: Workspace): (KubeObject & { spec: object }) | undefined {
  const { storage } = workspace.spec;
  if (!storage) return undefined;
  return {
    metadata: metadataOf(workspace),
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: storage.size } },
      ...(storage.className === undefined ? {} : { storageClassName: storage.className }),
    },
  };
}

/** Returns a pod with one container, restricted to Pod Security Standard "restricted", without a token. */
export function podOf(workspace: Workspace): WorkspacePod {
  const { image, port, resources, mountPath = MOUNT_PATH, runAsUser = USER } = workspace.spec;
  const { name = '' } = workspace.metadata;
  const container = {
    name: 'workspace',
    image,
    imagePullPolicy: 'IfNotPresent',
    ports: [{ containerPort: port }],
    env: [{ name: 'HOME', value: mountPath }],
    ...(resources === undefined ? {} : { resources }),
    readinessProbe: { tcpSocket: { port }, periodSeconds: 2, failureThreshold: 5 },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    volumeMounts: [{ name: VOLUME, mountPath }],
  };
  const kept = workspace.spec.storage ? { persistentVolumeClaim: { claimName: name } } : { emptyDir: {} };
  const spec = {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser,
      runAsGroup: runAsUser,
      fsGroup: runAsUser,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [container],
    volumes: [{ name: VOLUME, ...kept }],
  };
  return { metadata: metadataOf(workspace), spec };
}
