import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { spanOf } from '#base/time-span.ts';
import { allClusters, type Cluster } from './clusters.ts';
import { CommandFailure, EXIT } from './failure.ts';
import type { Io } from './io.ts';
import {
  authorityOf,
  type ConnectionOptions,
  readNamed,
  storedConfig,
  tokenOf,
  withSession,
} from './session.ts';

/** A problem of an installation, with the command that fixes it. */
export interface Finding {
  /** Subject of the problem, such as `cluster demo`. */
  what: string;
  problem: string;
  fix: string;
}

/** Result of a check; undefined: everything is right. */
type Findings = readonly Finding[];

const SOON_MS = 30 * 86_400_000;
const TOKEN_SOON_MS = 10 * 60_000;
const TROUBLE = 'docs/troubleshooting.md';

/** Commands against reasons of condition Stalled; other reasons have a section in the page. */
const STALLED: Readonly<Record<string, (name: string, operation: string | undefined) => string>> = {
  OperationFailed: (name, operation) =>
    `matryoshka logs ${name}, then matryoshka retry ${name}${operation === 'scale-up' ? `, or matryoshka scale ${name} --remove HOST if a host cannot join` : ''}`,
  Cancelled: (name) => `matryoshka retry ${name}`,
  Paused: (name) => `matryoshka resume ${name}`,
};

/** Commands against conditions that are False. */
const FALSE: Readonly<Record<string, (name: string) => string>> = {
  Ready: (name) => `matryoshka repair ${name}; if all control planes are lost, docs/tasks/restore.md`,
  HostsReachable: (name) =>
    `matryoshka describe ${name}; matryoshka replace ${name} OLD NEW if a host stays away`,
  ControlPlaneHealthy: (name) => `matryoshka repair ${name}`,
  EtcdHealthy: (name) => `matryoshka repair ${name}`,
  CertificatesValid: (name) => `matryoshka renew ${name}`,
  HostsAsMade: (name) => `matryoshka repair ${name}`,
  SnapshotsCurrent: (name) => `matryoshka snapshot ${name}`,
  RemediationReady: () => 'docs/tasks/replace-automatically.md',
};

const sectionOf = (reason: string): string => `${TROUBLE}#${reason.toLowerCase()}`;

/** Returns the problems of a cluster. */
export function problemsOf({ metadata: { name }, status }: Cluster): Findings {
  const what = `cluster ${name}`;
  const conditions = status.conditions.flatMap(({ type, status: value, reason, message }) => {
    if (type === 'Stalled' && value === 'True')
      return [
        {
          what,
          problem: `${reason}: ${message}`,
          fix: STALLED[reason]?.(name, status.operation?.name) ?? sectionOf(reason),
        },
      ];
    // Before the creation, nothing is ready yet.
    if (value !== 'False' || status.version === undefined) return [];
    const fix = FALSE[type]?.(name);
    return fix === undefined ? [] : [{ what, problem: `${type}: ${message}`, fix }];
  });
  const left = status.hosts
    .filter(({ state }) => state === 'Unclean' || state === 'Lost')
    .map(({ ip, message }) => ({
      what,
      problem: `host ${ip} left and could not be reset${message === undefined ? '' : `: ${message}`}`,
      fix: sectionOf('HostUnclean'),
    }));
  return [...conditions, ...left];
}

const claims = z.looseObject({ exp: z.number().optional() });

/** Returns the milliseconds that a token is still valid; undefined if it does not say so (RFC 7519). */
export function tokenLeft(token: string, now: Date): number | undefined {
  try {
    const { exp } = claims.parse(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()));
    return exp === undefined ? undefined : exp * 1_000 - now.getTime();
  } catch {
    return undefined;
  }
}

function tokenProblems(token: string, now: Date): Findings {
  const left = tokenLeft(token, now);
  if (left === undefined || left > TOKEN_SOON_MS) return [];
  return [
    {
      what: 'your token',
      problem: left < 0 ? `ended ${spanOf(-left)} ago` : `ends in ${spanOf(left)}`,
      fix: 'kubectl create token NAME | matryoshka login',
    },
  ];
}

function authorityProblems(pem: string, now: Date): Findings {
  const left = Date.parse(new X509Certificate(pem).validTo) - now.getTime();
  if (left > SOON_MS) return [];
  return [
    {
      what: 'the authority of the server',
      problem: left < 0 ? `expired ${spanOf(-left)} ago` : `expires in ${spanOf(left)}`,
      fix: 'matryoshka bootstrap, with the options of the installation (docs/tasks/upgrade-meta-cluster.md); with the chart, docs/tasks/install-chart.md#certificates',
    },
  ];
}

/** Checks of the meta cluster itself, which need its kubeconfig. */
export type InspectInstallation = (
  kubeconfig: string,
  operatorNamespace: string,
  now: Date,
) => Promise<Findings>;

/** Checks the connection, all clusters, and with a kubeconfig the installation. Throws CommandFailure if it finds problems. */
export async function doctor(
  {
    allNamespaces,
    kubeconfig,
    operatorNamespace,
    ...options
  }: ConnectionOptions & {
    allNamespaces: boolean;
    kubeconfig?: string | undefined;
    operatorNamespace: string;
  },
  io: Io,
  inspect: InspectInstallation,
): Promise<void> {
  const now = io.clock.now();
  const found: Finding[] = [];
  const report = (what: string, findings: Findings): void => {
    found.push(...findings);
    if (findings.length === 0) io.print(`ok       ${what}`);
    for (const finding of findings)
      io.print(`problem  ${finding.what}: ${finding.problem}\n         fix: ${finding.fix}`);
  };
  if (kubeconfig !== undefined) {
    readNamed(kubeconfig, '--kubeconfig');
    report('the installation', await inspect(kubeconfig, operatorNamespace, now));
  }
  const stored = storedConfig(options);
  const ofToken = tokenProblems(tokenOf(options, stored), now);
  if (ofToken.length > 0) report('your token', ofToken);
  report('the authority of the server', authorityProblems(authorityOf(options, stored), now));
  const ofServer = withSession(options, async (session) => {
    const clusters = await allClusters(session, allNamespaces ? undefined : session.namespace);
    report('the server answers', []);
    // Only the server knows whether a token is valid.
    if (ofToken.length === 0) report('your token', []);
    for (const { cluster } of clusters) report(`cluster ${cluster.metadata.name}`, problemsOf(cluster));
  });
  await ofServer.catch((error: unknown) => {
    if (!(error instanceof CommandFailure) || error.exitCode !== EXIT.unavailable) throw error;
    if (kubeconfig === undefined)
      throw new CommandFailure(
        `${error.message}\nwith --kubeconfig FILE, doctor also inspects the installation`,
        error.exitCode,
      );
    const fix = `kubectl -n ${operatorNamespace} get pods,services`;
    report('the server answers', [{ what: 'the server', problem: error.message, fix }]);
  });
  if (found.length > 0)
    throw new CommandFailure(`${found.length} ${found.length === 1 ? 'problem' : 'problems'}`, EXIT.failed);
}
