import { hostname } from 'node:os';
import { z } from 'zod';
import { LIST, PORT, SWITCH } from './options.ts';

/**
 * Settings of the serving programs; those of commands that end are in `command-config.ts`. Each is a flag `--kebab-case`, or
 * an environment variable `MATRYOSHKA_UPPER_SNAKE`. No other code reads either, except ansibleinit, a separate program with
 * a separate reader.
 */
const common = {
  logLevel: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info').describe('Log level'),
};
const inCluster = {
  ...common,
  kubeconfig: z.string().optional().describe('Path of a kubeconfig; default: the pod’s own service account'),
  namespace: z.string().default('matryoshka-system').describe("The operator's namespace"),
  siteDir: z
    .string()
    .default('/etc/matryoshka/site')
    .describe('Directory with artifacts.json, which lists the offered versions'),
  allowHooks: SWITCH.default(false).describe(
    'Run hooks: playbooks of users, as root on hosts of their clusters. Set it alike for controller, server and webhook',
  ),
  probePort: PORT.default(8081).describe('Port of /healthz, /readyz and /metrics'),
  identity: z
    .string()
    .default(() => hostname())
    .describe('Unique identity of this replica'),
};

const reportsNamespace = z
  .string()
  .default('matryoshka-reports')
  .describe('Namespace for reports and logs of Jobs');
const limitsDir = z
  .string()
  .default('/etc/matryoshka/limits')
  .describe('Directory with limits.yaml, the limits of each namespace');
const otlpEndpoint = z
  .url({ protocol: /^https?$/, error: 'is not the address of a collector, such as http://collector:4318' })
  .regex(/^[^@]*$/, { error: 'has a password, which would be in the environment of each Job' })
  .optional()
  .describe('Collector of traces (OTLP over HTTP); default: none are sent');
const certDir = z.string().default('/etc/matryoshka/tls').describe('Directory with tls.crt and tls.key');

const whole = (least: number, most: number, initial: number) =>
  z.coerce.number().int().min(least).max(most).default(initial);

export const controllerConfig = z.object({
  ...inCluster,
  reportsNamespace,
  controllers: LIST.refine(
    (names) => names.length > 0,
    'names none; leave it out for kubernetescluster,certificate',
  )
    .refine((names) => new Set(names).size === names.length, 'names one twice')
    .default(['kubernetescluster', 'certificate'])
    .describe(
      'Controllers to run, comma-separated. Programs with the same set elect one leader; a controller may be in one set only',
    ),
  runnerImage: z.string().default('matryoshka/runner:dev').describe('Image of the Job that runs Ansible'),
  runnerServiceAccount: z.string().default('matryoshka-runner').describe('ServiceAccount of the Job'),
  hookServiceAccount: z
    .string()
    .default('matryoshka-hook')
    .describe('ServiceAccount of Jobs that run hooks; it has no rights'),
  serverUrl: z
    .string()
    .default('https://matryoshka-server.matryoshka-system.svc')
    .describe('URL of the server for reports of Jobs'),
  caConfigMap: z
    .string()
    .default('matryoshka-ca')
    .describe('ConfigMap with ca.crt, the authority that Jobs trust for the server'),
  caSecret: z
    .string()
    .optional()
    .describe('Secret with ca.crt, instead of that ConfigMap: for certificates of cert-manager'),
  siteConfigMap: z
    .string()
    .default('matryoshka-site')
    .describe('ConfigMap with artifacts.json and inventory-vars.yaml'),
  snapshotClaim: z
    .string()
    .optional()
    .describe(
      'PersistentVolumeClaim of the operator’s namespace for snapshots of clusters that name no other storage',
    ),
  otlpEndpoint,
  kubeApiQps: z.coerce
    .number()
    .min(1)
    .default(1000)
    .describe('Maximum calls per second to the Kubernetes API, beside its own priority and fairness'),
  workers: whole(1, 64, 4).describe('Number of clusters that are reconciled at once'),
  maxOperations: whole(1, 100_000, 50).describe(
    'Maximum operations at once over all clusters; others wait, fairly by namespace',
  ),
  maxOperationsPerNamespace: z.coerce
    .number()
    .int()
    .min(1)
    .optional()
    .describe('Maximum operations at once of one namespace; default: half of --max-operations'),
  healthIntervalSeconds: z.coerce
    .number()
    .min(0)
    .max(3600)
    .default(30)
    .describe('Seconds between two probes of a created cluster; 0 turns probes off'),
  healthDeadlineSeconds: z.coerce
    .number()
    .min(1)
    .max(60)
    .default(10)
    .describe('Deadline of one probe of a created cluster, in seconds'),
});

export const serverConfig = z.object({
  ...inCluster,
  reportsNamespace,
  port: PORT.default(8443).describe('Port of the REST API'),
  certDir,
  limitsDir,
  otlpEndpoint,
  audiences: LIST.default([]).describe(
    'Token audiences that REST accepts beside the API server’s own, comma-separated',
  ),
  runnerServiceAccount: z
    .string()
    .default('matryoshka-runner')
    .describe('ServiceAccount of the Job, in the operator’s namespace'),
  oidcIssuer: z
    .url({ protocol: /^https$/, error: 'is not an address that begins with https://' })
    .optional()
    .describe('Issuer of an OpenID Connect provider for the web page; the API server must trust its tokens'),
  oidcClientId: z.string().optional().describe('Client id at this provider'),
  oidcRedirectUrl: z
    .url({ protocol: /^https$/, error: 'is not an address that begins with https://' })
    .regex(/\/login\/oidc\/callback$/, { error: 'does not end with /login/oidc/callback' })
    .optional()
    .describe('Address of the callback at the provider: https://<server>/login/oidc/callback'),
  oidcScopes: LIST.default(['openid', 'email', 'profile']).describe('Scopes, comma-separated'),
  oidcDir: z
    .string()
    .default('/etc/matryoshka/oidc')
    .describe(
      'Directory with client-secret, if the client has one, and ca.crt, if Node does not know the authority',
    ),
});

export const webhookConfig = z.object({
  ...inCluster,
  port: PORT.default(9443).describe('Port of the admission webhook'),
  certDir,
  limitsDir,
  controllerUser: z
    .string()
    .default('system:serviceaccount:matryoshka-system:matryoshka-controller')
    .describe('User name of the controller, which alone may write results'),
  serverUser: z
    .string()
    .default('system:serviceaccount:matryoshka-system:matryoshka-server')
    .describe('User name of the REST server, which checks the rights of its callers'),
});

export const workspaceServerConfig = z.object({
  ...common,
  kubeconfig: inCluster.kubeconfig,
  port: PORT.default(6387).describe('Port of the gRPC server'),
  probePort: inCluster.probePort,
  certDir,
  audiences: LIST.default([]).describe(
    'Token audiences that the server accepts beside the API server’s own, comma-separated',
  ),
});

export const ingressProxyConfig = z.object({
  ...common,
  kubeconfig: inCluster.kubeconfig,
  httpPort: PORT.default(8080).describe('Port of HTTP'),
  httpsPort: PORT.default(8443).describe('Port of HTTPS'),
  probePort: inCluster.probePort,
  haproxy: z.string().default('haproxy').describe('Path of HAProxy'),
  directory: z
    .string()
    .optional()
    .describe('Directory for configuration and keys, best in memory; default: a temporary one'),
  workers: whole(0, 64, 0).describe('Threads of HAProxy; 0 means one for each core, at most 8'),
  accessLog: SWITCH.default(true).describe('Print a line of JSON for each request'),
  trustedProxies: LIST.default([]).describe(
    'Networks (CIDR) whose X-Forwarded fields are trusted, comma-separated',
  ),
  proxyProtocol: SWITCH.default(false).describe(
    'Expect the PROXY protocol on connections from --trusted-proxies',
  ),
  maxBodyBytes: z.coerce
    .number()
    .int()
    .min(0)
    .default(0)
    .describe('Maximum body of a request in bytes; 0 means no limit'),
  idleSeconds: whole(1, 86_400, 60).describe('Idle timeout of a request or answer in flight, in seconds'),
  tunnelIdleSeconds: whole(1, 86_400, 3_600).describe('Idle timeout of a WebSocket, in seconds'),
  shedSeconds: whole(0, 300, 5).describe(
    'Seconds after SIGTERM during which new connections are accepted, so that load balancers notice',
  ),
  drainSeconds: whole(1, 3_600, 30).describe('Seconds after that for requests in flight to end'),
});

export const artifactsConfig = z.object({
  ...common,
  directory: z.string().default('/var/lib/matryoshka/artifacts').describe('Directory to serve'),
  port: PORT.default(8080).describe('Port of the HTTP server'),
});

export type ControllerConfig = z.infer<typeof controllerConfig>;
export type ServerConfig = z.infer<typeof serverConfig>;
export type WebhookConfig = z.infer<typeof webhookConfig>;
export type IngressProxyConfig = z.infer<typeof ingressProxyConfig>;
export type WorkspaceServerConfig = z.infer<typeof workspaceServerConfig>;
