import type { Pod } from '#api/core.ts';
import type { KubeObject, ObjectMeta } from '#api/meta.ts';
import { CLOUD_IDE, WORKSPACES, type Workspace } from '../api.ts';

/** The pod and the volume of a Workspace; both have its name and go with it. */

/** A pod, and at which port its editor listens: the Workspace's may be another by now. */
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

/** core/v1 PersistentVolumeClaim; undefined where the Workspace keeps nothing. */
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

/** One container that may do no more than Pod Security Standard "restricted" lets it, and has no token. */
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
