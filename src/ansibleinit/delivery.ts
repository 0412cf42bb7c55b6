import { writeFileSync } from 'node:fs';
import type { Report } from '#protocol/report.ts';
import { verdictOf } from '#protocol/verdict.ts';
import { postUntilAnswered } from './server-client.ts';
import type { Settings } from './settings.ts';

/** Time for which a finished run tries to deliver its report. */
const DELIVERY_MS = 5 * 60_000;

/** Returns the report as the body of the callback (docs/reference/job.md). */
function callbackBody({ runSpec }: Settings, report: Report): string {
  const { name, namespace, region } = runSpec.cluster;
  const changed = runSpec.hosts.filter(({ action }) => action !== 'stay');
  const having = (duty: (typeof changed)[number]['member']['duties'][number]) =>
    changed.filter(({ member: host }) => host.duties.includes(duty)).map(({ member: { ip } }) => ({ ip }));
  const lists = {
    masterList: having('control-plane'),
    nodeList: having('worker'),
    etcdList: having('etcd'),
  };
  return JSON.stringify({ name, namespace, region, ...lists, ...report });
}

/** Delivers the report; returns false if no successful answer came in time. */
export async function deliver(settings: Settings, report: Report): Promise<boolean> {
  if (settings.REPORT_FILE !== undefined)
    writeFileSync(settings.REPORT_FILE, JSON.stringify(report), { mode: 0o600 });
  if (settings.SERVER_URL === undefined) return true;
  const { cluster, callback } = settings.runSpec;
  const path = `/api/v1/region/${encodeURIComponent(cluster.region)}/cluster/${cluster.name}/${callback}/callback`;
  const signal = AbortSignal.timeout(DELIVERY_MS);
  try {
    const body = callbackBody(settings, report);
    const { status } = await postUntilAnswered(settings, path, body, 'application/json', signal);
    return status < 300;
  } catch {
    return false;
  }
}

/** Writes the result to a file that the kubelet shows, without secrets. */
export function leaveVerdict(file: string, report: Report): void {
  try {
    writeFileSync(file, verdictOf(report));
  } catch {
    // A run by hand has no such file; its report was printed.
  }
}
