import type { TestProject } from 'vitest/node';
import { kubeconfigFile, untilDone } from '#lab/meta/cluster.ts';
import { openMeta } from '#lab/meta/meta.ts';
import { byNumber } from '../by-number.ts';
import { freshenLane } from '../fresh-lane.ts';
import { hostsOfLane } from '../lane.ts';
import { QUICK_KEYS } from '../quick-keys.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The cluster that add-on tests share: the first host of their lane and, as worker, the second. */
    addons: { name: string; kubeconfigPath: string };
  }
}

const NAME = 'addons';
const CREATION_MS = 480_000;

/**
 * Creates one cluster for all files here, because they only need a cluster that exists. It runs after ../global-setup.ts.
 * The cluster stays: the next file in this lane, or the end of the lab, removes it.
 */
export default async function setup(project: TestProject): Promise<void> {
  const place = await globalThis.matryoshkaLab;
  if (place === undefined) throw new Error('the lab of ../global-setup.ts is not there');
  const meta = await openMeta({ ...place, hosts: hostsOfLane(place.hosts) });
  try {
    await freshenLane(meta);
    const { entries } = byNumber(() => meta);
    const lists = { masterList: entries(0), nodeList: entries(1), kubeadm: QUICK_KEYS };
    const body = { ...lists, privateSSHKey: meta.privateKey };
    const { status, body: answer } = await meta.rest.raw('POST', `/region/lab/cluster/${NAME}`, body);
    if (status !== 200) throw new Error(`POST of ${NAME}: ${status} ${JSON.stringify(answer)}`);
    await untilDone(meta, NAME, CREATION_MS);
    project.provide('addons', { name: NAME, kubeconfigPath: await kubeconfigFile(meta, NAME) });
  } finally {
    await meta.close();
  }
}
