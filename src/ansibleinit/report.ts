import { writeFileSync } from 'node:fs';
import { postUntilAnswered } from './server.ts';
import type { Settings } from './settings.ts';

export interface RunReport {
  success: boolean;
  reason?: string;
  message: string;
  kubeconfig?: string;
  knownHosts?: string;
  hosts: { ip: string; ok: boolean; message?: string }[];
}

/** How long a finished run goes on trying to tell so. */
const DELIVERY_MS = 5 * 60_000;
/** The kubelet keeps 4,096 bytes of a termination message. */
const MAX_VERDICT = 4000;

const CALLBACKS = {
  create: 'create',
  'scale-up': 'scaleup',
  'scale-down': 'scaledown',
  delete: 'delete',
  fetch: 'fetch',
};

const addresses = (list: string): { ip: string }[] =>
  list === '' ? [] : list.split(',').map((ip) => ({ ip }));

/** The report as the callback's body spells it (docs/contract.md, REST). */
function callbackBody(settings: Settings, report: RunReport): string {
  return JSON.stringify({
    name: settings.CLUSTER_NAME,
    namespace: settings.CLUSTER_NAMESPACE,
    region: settings.CLUSTER_REGION,
    masterList: addresses(settings.MASTER_HOSTS),
    nodeList: addresses(settings.NODE_HOSTS),
    etcdList: addresses(settings.ETCD_HOSTS),
    ...report,
  });
}

/** Delivers the report; false when no answer of success came in time. */
export async function deliver(settings: Settings, report: RunReport): Promise<boolean> {
  if (settings.REPORT_FILE !== undefined)
    writeFileSync(settings.REPORT_FILE, JSON.stringify(report), { mode: 0o600 });
  if (settings.SERVER_URL === undefined) return true;
  const region = encodeURIComponent(settings.CLUSTER_REGION === '' ? 'default' : settings.CLUSTER_REGION);
  const path = `/api/v1/region/${region}/cluster/${settings.CLUSTER_NAME}/${CALLBACKS[settings.OPERATION]}/callback`;
  const signal = AbortSignal.timeout(DELIVERY_MS);
  try {
    const { status } = await postUntilAnswered(
      settings,
      path,
      callbackBody(settings, report),
      'application/json',
      signal,
    );
    return status < 300;
  } catch {
    return false;
  }
}

/** The verdict as short as it must be: hosts that failed, with as much of why as there is room for. */
export function verdictOf({ success, reason, message, hosts }: RunReport): string {
  for (const length of [200, 40, 0]) {
    const failed = hosts
      .filter(({ ok }) => !ok)
      .map(({ ip, message: why = '' }) => ({ ip, ok: false, message: why.slice(0, length) }));
    const text = JSON.stringify({ success, reason, message: message.slice(0, 1000), hosts: failed });
    if (Buffer.byteLength(text) <= MAX_VERDICT) return text;
  }
  // A verdict that cannot name its hosts must not let any of them pass for clean.
  return JSON.stringify({
    success: false,
    reason: 'TooManyFailures',
    message: message.slice(0, 1000),
    hosts: [],
  });
}

/** Leaves the verdict where the kubelet shows it, without secrets. */
export function leaveVerdict(file: string, report: RunReport): void {
  try {
    writeFileSync(file, verdictOf(report));
  } catch {
    // Run by hand there is no such file; the report was printed.
  }
}
