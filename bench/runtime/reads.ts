import { CONFIG_MAPS, type ConfigMap, PODS, type Pod } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import { startApiServer } from '#lab/apiserver/start.ts';
import { announced, type Say } from '#lab/artifacts/progress.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { type Side, start } from './sides.ts';

const PODS_COUNT = 10_000;
const POD_BYTES = 4_000;
const AT_ONCE = 16;
/** Samples per run: one sample of so short an operation says little, on cores that are shared with the server. */
const TURNS = 3;

/** Results of one side, one value for each run. */
export interface Reads {
  listSeconds: number[];
  /** Ours only: the same by a single watch. */
  watchListSeconds: number[];
  listMiB: number[];
  /** Ours only: longest block of the event loop, in milliseconds. */
  blocked: number[];
  /** Milliseconds of our own thread's work in that block. */
  worked: number[];
  callSeconds: number[];
}

/** Both sides in turn list 10,000 Pods of 4 KB into a cache, and read one ConfigMap repeatedly, 16 at once. */
export async function reads(
  both: readonly Side[],
  runs: number,
  say: Say,
): Promise<{ sides: Map<string, Reads>; pod: Pod }> {
  await using server = await startApiServer({ say, flags: ['--disable-admission-plugins=ServiceAccount'] });
  const client = createClient(await loadEndpoint({ kubeconfig: server.kubeconfigPath }), {
    userAgent: 'matryoshka-bench',
  });
  let pod: Pod;
  try {
    await announced(say, `${PODS_COUNT} Pods`, () => createPods(client));
    const called: ConfigMap = { metadata: { namespace: 'default', name: 'called' }, data: { a: 'b' } };
    await client.create(CONFIG_MAPS, called);
    pod = await client.get<Pod>(PODS, { namespace: 'default', name: 'pod-0' });
  } finally {
    await client.close();
  }
  const measured = new Map(
    both.map(({ name }) => [
      name,
      {
        listSeconds: [],
        watchListSeconds: [],
        listMiB: [],
        blocked: [],
        worked: [],
        callSeconds: [],
      } satisfies Reads as Reads,
    ]),
  );
  for (let run = 0; run < runs; run += 1) {
    for (const side of inTurn(both)) {
      const one = measured.get(side.name);
      if (!one) continue;
      const list = start(side, 'list', server.kubeconfigPath);
      if (side.name === 'ours') {
        one.blocked.push(Number(await list.line('blocked ')));
        one.worked.push(Number(await list.line('worked ')));
      }
      one.listSeconds.push(Number(await list.line('seconds ')));
      one.listMiB.push(await list.resident());
      await list.stop();
      if (side.name === 'ours') {
        const watchList = start(side, 'watchlist', server.kubeconfigPath);
        one.watchListSeconds.push(Number(await watchList.line('seconds ')));
        await watchList.stop();
      }
    }
    for (const side of inTurn(both)) {
      const calls = start(side, 'calls', server.kubeconfigPath);
      measured.get(side.name)?.callSeconds.push(Number(await calls.line('seconds ')));
      await calls.stop();
    }
  }
  return { sides: measured, pod };
}

function inTurn(both: readonly Side[]): Side[] {
  return Array.from({ length: TURNS }, () => both).flat();
}

async function createPods(client: Client): Promise<void> {
  let next = 0;
  const filler = 'x'.repeat(POD_BYTES - 1_200);
  const worker = async () => {
    while (next < PODS_COUNT) {
      const name = `pod-${next++}`;
      const pod: KubeObject & { spec: unknown } = {
        metadata: { namespace: 'default', name, annotations: { filler }, labels: { app: 'bench' } },
        spec: { containers: [{ name: 'main', image: 'nothing' }] },
      };
      await client.create(PODS, pod);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
