import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeNameOf } from '#api/host.ts';
import { docker } from '../hosts/docker.ts';
import type { LabHost } from '../hosts/places.ts';
import { faults } from './faults.ts';

/** Validity of the certificates that replace those of a cluster. */
const SHORT_MS = 5_000;

/** Replaces all certificates of a cluster by short-lived ones, and keeps its hosts off until these have expired. */
export async function expireCertificates(
  masters: readonly LabHost[],
  workers: readonly LabHost[],
): Promise<void> {
  const [first] = masters;
  if (!first) throw new Error('a cluster without control planes');
  const all = [...masters, ...workers];
  const script = await readFile(join(import.meta.dirname, 'expire-certificates.sh'), 'utf8');
  const pairOf = (host: LabHost) =>
    `kubeadm kubeconfig user --client-name system:node:${nodeNameOf(host)} --org system:nodes --validity-period 5s --config /dev/stdin <<< '{apiVersion: kubeadm.k8s.io/v1beta4, kind: ClusterConfiguration}' 2> /dev/null |
      sed -n 's/^ *client-\\(certificate\\|key\\)-data: *//p' | while read -r part; do base64 -d <<< "$part"; done | base64 -w0`;
  const pairs = await Promise.all(
    all.map((host) => docker(['exec', first.name, 'bash', '-c', pairOf(host)])),
  );
  await Promise.all(
    all.map((host, at) => {
      const duty = at < masters.length ? 'master' : 'worker';
      const args = [nodeNameOf(host), duty, host.ip, pairs[at] ?? ''];
      return docker(['exec', host.name, 'bash', '-c', script, 'expire', ...args]);
    }),
  );
  await Promise.all(all.map((host) => faults.powerOff(host)));
  await sleep(SHORT_MS);
  await Promise.all(all.map((host) => faults.powerOn(host)));
}
