import { writeFileSync } from 'node:fs';
import type { Report } from '#protocol/report.ts';
import { verdictOf } from '#protocol/verdict.ts';
import { postUntilAnswered } from './server-client.ts';
import type { Settings } from './settings.ts';

/** How long a finished run goes on trying to tell so. */
const DELIVERY_MS = 5 * 60_000;

/** The report as the callback's body spells it (docs/reference/job.md). */
function callbackBody({ runSpec }: Settings, report: Report): string {
  const { name, namespace, region } = runSpec.cluster;
  const changed = runSpec.hosts.filter(({ action }) => action !== 'stay');
  const having = (duty: (typeof changed)[number]['member']['duties'][number]) =>
    changed.filter(({ member }) => member.duties.includes(duty)).map(({ member: { ip } }) => ({ ip }));
  const lists = {
    masterList: having('control-plane'),
    nodeList: having('worker'),
    etcdList: having('etcd'),
  };
  return JSON.stringify({ name, namespace, region, ...lists, ...report });
}

/** Delivers the report; false when no answer of success came in time. */
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

/** Leaves the verdict where the kubelet shows it, without secrets. */
export function leaveVerdict(file: string, report: Report): void {
  try {
    writeFileSync(file, verdictOf(report));
  } catch {
    // Run by hand there is no such file; the report was printed.
  }
}
