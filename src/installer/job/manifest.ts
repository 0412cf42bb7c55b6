import { stringify } from 'yaml';
import { textOf } from '#api/cluster-facts.ts';
import type { ClusterHost } from '#api/cluster-host.ts';
import { type Secret, secretData } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import { attemptSecretName, CALLBACK_AUDIENCE, internalAnnotations, labels } from '#api/names.ts';
import { HOOK_ARGUMENT, HOOK_FILE } from '#protocol/hook.ts';
import { inventoryOf } from '#protocol/inventory.ts';
import { RUN_SPEC_FILE } from '#protocol/run-spec.ts';
import { SCRATCH, SNAPSHOT_ACCESS_FILE, SNAPSHOT_VOLUME } from '#protocol/snapshot.ts';
import type { Attempt } from '../installer.ts';

/** Settings of Jobs, from the operator's installation. */
export interface JobSettings {
  /** The operator's namespace. */
  namespace: string;
  /** Namespace in which the server keeps the reports and logs of Jobs. */
  reportsNamespace: string;
  image: string;
  serviceAccount: string;
  /** ServiceAccount of Jobs that run a user's playbook; it has no rights, and their pods no token. */
  hookServiceAccount: string;
  /** Server that gets the reports: `https://matryoshka-server.matryoshka-system.svc`. */
  serverUrl: string;
  /** Collector of spans (OTLP/HTTP); absent: none. */
  otlpEndpoint?: string | undefined;
  /** ConfigMap with `ca.crt`, the CA bundle for the server's certificate. */
  caConfigMap: string;
  /** Secret with `ca.crt` that is used instead; Jobs get no other part of it. */
  caSecret?: string | undefined;
  /** ConfigMap with `artifacts.json` and `inventory-vars.yaml`: the artifacts of hosts, and the site's variables. */
  siteConfigMap: string;
  /** PersistentVolumeClaim for snapshots of clusters that name no other storage. */
  snapshotClaim?: string | undefined;
}

/** Paths of ansibleinit's files in its pod. */
const MOUNTS = {
  access: '/etc/matryoshka/access',
  ca: '/etc/matryoshka/ca',
  site: '/etc/matryoshka/site',
  token: '/var/run/secrets/matryoshka',
  work: '/run/matryoshka',
} as const;

/** Uid of the runner image's user; fsGroup makes the keys readable for this user only. */
const RUNNER = 10_001;
const TOKEN_SECONDS = 600;
const GRACE_SECONDS = 20;
/**
 * Time before pods leave a lost node. With the pod's grace period and the controller's own wait, an attempt is lost 2
 * minutes after its node.
 */
const AWAY_SECONDS = 90;
const away = ['not-ready', 'unreachable'].map((state) => ({
  key: `node.kubernetes.io/${state}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: AWAY_SECONDS,
}));

const metadataOf = (attempt: Attempt, namespace: string, name: string, purpose: string) => ({
  namespace,
  name,
  labels: {
    [labels.purpose]: purpose,
    [labels.clusterId]: attempt.clusterId,
    [labels.sequence]: String(attempt.sequence),
    [labels.attempt]: String(attempt.attempt),
    ...(attempt.auxiliary === undefined ? {} : { [labels.auxiliary]: attempt.auxiliary }),
  },
  annotations: { [internalAnnotations.cluster]: textOf(attempt.runSpec.cluster) },
});

/** Builds the Secret of an attempt: its run spec and SSH credentials, as they were when the attempt began. */
export function secretOf(attempt: Attempt, { namespace }: JobSettings): Secret {
  const { privateKey, password, knownHosts, registryLogin, snapshots } = attempt.access;
  return {
    metadata: metadataOf(attempt, namespace, attemptSecretName(attempt.job), 'attempt-secret'),
    immutable: true,
    data: secretData({
      'ssh-privatekey': privateKey,
      password,
      known_hosts: knownHosts,
      // A user's playbook needs none.
      'registry-login': attempt.hook === undefined ? registryLogin : undefined,
      [SNAPSHOT_ACCESS_FILE]: attempt.hook === undefined ? snapshots && JSON.stringify(snapshots) : undefined,
      [RUN_SPEC_FILE]: JSON.stringify(attempt.runSpec),
      [HOOK_FILE]: attempt.hook,
    }),
  };
}

/**
 * Limit of a variable: Linux takes 128 KiB (execve(2), MAX_ARG_STRLEN). A run with more hosts has them in its run spec only.
 */
const MAX_VARIABLE = 64 * 1024;

/** Returns the variables of kubernetes-operator's Job, for playbooks that use them; our own playbooks read the run spec. */
function environmentOf(
  { runSpec, hook }: Attempt,
  settings: JobSettings,
): { name: string; value?: string; valueFrom?: unknown }[] {
  const { cluster, run, hosts, endpoint } = runSpec;
  const changed = hosts.filter(({ action }) => action !== 'stay').map(({ member: host }) => host);
  const ips = (duty: ClusterHost['duties'][number]) =>
    changed
      .filter(({ duties }) => duties.includes(duty))
      .map(({ ip }) => ip)
      .join(',');
  const inventory = stringify(inventoryOf(runSpec));
  const values: Record<string, string> = {
    OPERATION: runSpec.task,
    CLUSTER_NAME: cluster.name,
    CLUSTER_NAMESPACE: cluster.namespace,
    CLUSTER_REGION: cluster.region,
    CLUSTER_ID: cluster.id,
    SEQUENCE: String(run.sequence),
    ATTEMPT: String(run.attempt),
    JOB_NAME: run.job,
    MASTER_HOSTS: ips('control-plane'),
    MASTER_VIP: endpoint.name.endsWith('.matryoshka.internal') ? '' : endpoint.name,
    ETCD_HOSTS: ips('etcd'),
    NODE_HOSTS: ips('worker'),
    ...(inventory.length <= MAX_VARIABLE ? { HOSTS_YAML: inventory } : {}),
    ...(hook === undefined ? { SERVER_URL: settings.serverUrl } : {}),
    ...(hook === undefined && settings.otlpEndpoint !== undefined
      ? { OTLP_ENDPOINT: settings.otlpEndpoint }
      : {}),
  };
  return [
    ...Object.entries(values).map(([name, value]) => ({ name, value })),
    { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
  ];
}

/** Returns the volumes of a run besides its Secret, including a token for its report. A hook has none of them. */
const servedVolumes = ({ caConfigMap, caSecret, siteConfigMap }: JobSettings) => [
  {
    name: 'ca' as const,
    ...(caSecret === undefined
      ? { configMap: { name: caConfigMap } }
      : { secret: { secretName: caSecret, items: [{ key: 'ca.crt', path: 'ca.crt' }] } }),
  },
  { name: 'site' as const, configMap: { name: siteConfigMap } },
  {
    name: 'token' as const,
    projected: {
      defaultMode: 0o440,
      sources: [
        {
          serviceAccountToken: {
            audience: CALLBACK_AUDIENCE,
            expirationSeconds: TOKEN_SECONDS,
            path: 'token',
          },
        },
      ],
    },
  },
];

/** Limit of the space for one snapshot: its data, and a copy that is restored as a test; etcd has at most 8 GiB. */
const SCRATCH_LIMIT = '24Gi';

/** Returns the volumes of a run with snapshots, each with its place. The claim shows it the files of its own cluster only. */
function snapshotVolumes(
  { access: { snapshots }, clusterId }: Attempt,
  claim: string | undefined,
): { mount: { name: string; mountPath: string; subPath?: string }; volume: Record<string, unknown> }[] {
  if (!snapshots) return [];
  const scratch = {
    mount: { name: 'scratch', mountPath: SCRATCH },
    volume: { name: 'scratch', emptyDir: { sizeLimit: SCRATCH_LIMIT } },
  };
  if (snapshots.storage.kind !== 'directory' || claim === undefined) return [scratch];
  return [
    scratch,
    {
      mount: { name: 'snapshots', mountPath: SNAPSHOT_VOLUME, subPath: clusterId },
      volume: { name: 'snapshots', persistentVolumeClaim: { claimName: claim } },
    },
  ];
}

/**
 * Builds the Job of an attempt. It has one pod, and never a second one: `backoffLimit: 0` with `podReplacementPolicy:
 * Failed`. The controller decides about the next attempt, not the Job.
 */
export function jobOf(attempt: Attempt, settings: JobSettings): KubeObject & { spec: unknown } {
  const { namespace, image, serviceAccount, hookServiceAccount } = settings;
  const isHook = attempt.hook !== undefined;
  const given = isHook ? [] : servedVolumes(settings);
  const common = metadataOf(attempt, namespace, attempt.job, 'attempt');
  const metadata = { ...common, annotations: { ...common.annotations, [internalAnnotations.image]: image } };
  const snapshots = snapshotVolumes(attempt, settings.snapshotClaim);
  const memory = (name: string) => ({ name, emptyDir: { medium: 'Memory', sizeLimit: '256Mi' } });
  return {
    metadata,
    spec: {
      backoffLimit: 0,
      podReplacementPolicy: 'Failed',
      activeDeadlineSeconds: attempt.deadlineSeconds,
      template: {
        metadata: { labels: metadata.labels, annotations: metadata.annotations },
        spec: {
          restartPolicy: 'Never',
          serviceAccountName: isHook ? hookServiceAccount : serviceAccount,
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: GRACE_SECONDS,
          tolerations: away,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: RUNNER,
            runAsGroup: RUNNER,
            fsGroup: RUNNER,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              name: 'ansibleinit',
              image,
              imagePullPolicy: 'IfNotPresent',
              ...(isHook ? { args: [HOOK_ARGUMENT] } : {}),
              env: environmentOf(attempt, settings),
              terminationMessagePolicy: 'File',
              resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '2Gi' } },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
              volumeMounts: [
                { name: 'access', mountPath: MOUNTS.access, readOnly: true },
                ...given.map(({ name }) => ({ name, mountPath: MOUNTS[name], readOnly: true })),
                { name: 'work', mountPath: MOUNTS.work },
                { name: 'tmp', mountPath: '/tmp' },
                ...snapshots.map(({ mount }) => mount),
              ],
            },
          ],
          volumes: [
            { name: 'access', secret: { secretName: attemptSecretName(attempt.job), defaultMode: 0o440 } },
            ...given,
            memory('work'),
            memory('tmp'),
            ...snapshots.map(({ volume }) => volume),
          ],
        },
      },
    },
  };
}
