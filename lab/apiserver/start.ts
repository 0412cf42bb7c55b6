import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, fetch } from 'undici';
import { stringify } from 'yaml';
import { sleep } from '#base/clock.ts';
import { createAuthority } from '#certificates/certificates.ts';
import { ensureBinaries } from '../artifacts/binaries.ts';
import { type Say, sayOnStderr } from '../artifacts/progress.ts';
import { createServerCertificates } from './certificates.ts';
import { type OwnedProcess, startOwned } from './owned-process.ts';
import { freePorts } from './ports.ts';
import { createStateDir } from './state-dir.ts';

/** A real kube-apiserver with its etcd and nothing else, on loopback. */
export interface ApiServer {
  /** YAML. Its user is a cluster admin. */
  readonly kubeconfig: string;
  readonly kubeconfigPath: string;
  readonly url: string;
  /** URL of its etcd, without authentication. `/metrics` is there too. */
  readonly etcdUrl: string;
  /** The admin's bearer token, and the CA of the server's certificate. */
  readonly token: string;
  readonly ca: string;
  stop(): Promise<void>;
}

export interface ApiServerOptions {
  /** Directory of state and logs. Default: a directory in memory, which `stop` removes. */
  readonly dir?: string;
  /** Whether the controllers for Jobs, namespaces, garbage collection and ServiceAccounts run too. */
  readonly controllerManager?: boolean;
  /** Whether the controller manager signs certificates of users, which the API server then trusts. */
  readonly signsUsers?: boolean;
  /** Further flags of kube-apiserver. */
  readonly flags?: readonly string[];
  /** Further flags of its etcd. */
  readonly etcdFlags?: readonly string[];
  readonly say?: Say;
}

const READY_TIMEOUT_MS = 60_000;

/** Controllers that tests need. The others would only list and watch. */
const CONTROLLERS = [
  'namespace-controller',
  'garbage-collector-controller',
  'job-controller',
  'serviceaccount-controller',
  'root-ca-certificate-publisher-controller',
  'ttl-after-finished-controller',
  'cronjob-controller',
  'deployment-controller',
  'replicaset-controller',
  'endpointslice-controller',
  'disruption-controller',
];

const SIGNING = 'certificatesigningrequest-signing-controller';

/**
 * Starts an API server and waits until it is ready, some three seconds. Its version is the oldest Kubernetes that Matryoshka
 * supports, or the newest with MATRYOSHKA_API_SERVER=newest.
 *
 *     await using server = await startApiServer({ controllerManager: true })
 */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer & AsyncDisposable> {
  const say = options.say ?? sayOnStderr;
  const etcdBinaries = await ensureBinaries('etcd', ['etcd'], say);
  const wanted = ['kube-apiserver', ...(options.controllerManager ? ['kube-controller-manager'] : [])];
  const kubernetes = process.env['MATRYOSHKA_API_SERVER'] === 'newest' ? 'kubernetes-newest' : 'kubernetes';
  const kubernetesBinaries = await ensureBinaries(kubernetes, wanted, say);

  const dir = options.dir ?? (await createStateDir());
  await mkdir(dir, { recursive: true });
  const processes: OwnedProcess[] = [];
  const stop = async () => {
    // Clients end first: a server without its storage spends its grace period on retries.
    for (const running of processes.splice(0).reverse()) await running.stop();
    if (options.dir === undefined) await rm(dir, { recursive: true, force: true });
  };
  const start = async (file: string, args: readonly string[], log: string) => {
    const running = await startOwned(file, args, join(dir, log));
    processes.push(running);
    return running;
  };
  const put = async (name: string, content: string) => {
    await writeFile(join(dir, name), content, { mode: 0o600 });
    return join(dir, name);
  };

  try {
    const [clientPort = 0, peerPort = 0, securePort = 0] = await freePorts(3);
    const certificates = await createServerCertificates();
    const token = randomBytes(24).toString('hex');
    const url = `https://127.0.0.1:${securePort}`;
    const kubeconfig = kubeconfigOf(url, certificates.ca, token);
    const kubeconfigPath = await put('kubeconfig', kubeconfig);

    await start(
      join(etcdBinaries, 'etcd'),
      [
        `--data-dir=${join(dir, 'etcd')}`,
        '--unsafe-no-fsync',
        `--listen-client-urls=http://127.0.0.1:${clientPort}`,
        `--advertise-client-urls=http://127.0.0.1:${clientPort}`,
        `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
        `--initial-advertise-peer-urls=http://127.0.0.1:${peerPort}`,
        `--initial-cluster=default=http://127.0.0.1:${peerPort}`,
        '--log-level=warn',
        ...(options.etcdFlags ?? []),
      ],
      'etcd.log',
    );
    const signer = options.signsUsers ? await createAuthority() : undefined;
    const signerFiles = signer && {
      cert: await put('users.crt', signer.cert),
      key: await put('users.key', signer.key),
    };
    const server = await start(
      join(kubernetesBinaries, 'kube-apiserver'),
      [
        `--etcd-servers=http://127.0.0.1:${clientPort}`,
        '--bind-address=127.0.0.1',
        '--advertise-address=127.0.0.1',
        `--secure-port=${securePort}`,
        `--tls-cert-file=${await put('server.crt', certificates.cert)}`,
        `--tls-private-key-file=${await put('server.key', certificates.key)}`,
        `--token-auth-file=${await put('tokens.csv', `${token},admin,admin,"system:masters"\n`)}`,
        '--anonymous-auth=false',
        '--authorization-mode=RBAC',
        '--service-cluster-ip-range=10.96.0.0/16',
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-signing-key-file=${await put('signing.key', certificates.signingKey)}`,
        `--service-account-key-file=${await put('signing.pub', certificates.signingKeyPublic)}`,
        '--endpoint-reconciler-type=none',
        ...(signerFiles ? [`--client-ca-file=${signerFiles.cert}`] : []),
        ...(options.flags ?? []),
      ],
      'kube-apiserver.log',
    );
    const ask = asker(url, certificates.ca, token);
    await Promise.race([server.ended, until(() => ask('/readyz'), 'kube-apiserver is ready')]);
    if (options.controllerManager) {
      const manager = await start(
        join(kubernetesBinaries, 'kube-controller-manager'),
        [
          `--kubeconfig=${kubeconfigPath}`,
          `--controllers=${[...CONTROLLERS, ...(signerFiles ? [SIGNING] : [])].join(',')}`,
          '--leader-elect=false',
          '--secure-port=0',
          '--use-service-account-credentials=false',
          `--service-account-private-key-file=${join(dir, 'signing.key')}`,
          `--root-ca-file=${await put('ca.crt', certificates.ca)}`,
          '--concurrent-namespace-syncs=20',
          ...(signerFiles
            ? [
                `--cluster-signing-cert-file=${signerFiles.cert}`,
                `--cluster-signing-key-file=${signerFiles.key}`,
              ]
            : []),
        ],
        'kube-controller-manager.log',
      );
      const account = () => ask('/api/v1/namespaces/default/serviceaccounts/default');
      await Promise.race([manager.ended, until(account, 'the controllers work')]);
    }
    const etcdUrl = `http://127.0.0.1:${clientPort}`;
    const { ca } = certificates;
    return { kubeconfig, kubeconfigPath, url, etcdUrl, token, ca, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function kubeconfigOf(server: string, ca: string, token: string): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'lab', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
    ],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'lab', context: { cluster: 'lab', user: 'admin' } }],
    'current-context': 'lab',
  });
}

function asker(url: string, ca: string, token: string): (path: string) => Promise<boolean> {
  const dispatcher = new Agent({ connect: { ca, timeout: 2_000 } });
  return async (path) => {
    const signal = AbortSignal.timeout(5_000);
    const response = await fetch(`${url}${path}`, {
      dispatcher,
      signal,
      headers: { authorization: `Bearer ${token}` },
    });
    await response.text();
    return response.ok;
  };
}

async function until(true_: () => Promise<boolean>, what: string): Promise<void> {
  const start = performance.now();
  while (performance.now() - start < READY_TIMEOUT_MS) {
    if (await true_().catch(() => false)) return;
    await sleep(50);
  }
  throw new Error(`not within ${READY_TIMEOUT_MS / 1000} s: ${what}`);
}
