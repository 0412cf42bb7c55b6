import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readyNodesOf, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { openLane } from './lanes.ts';
import { asPlanned } from './plan-and-result.ts';
import { QUICK_KEYS } from './quick-keys.ts';
import { tracesOn } from './traces.ts';
import { beginHistory } from './with-history.ts';

/** Keys of a cluster are rotated twice while clients read and write. */
const NAME = 'rotated';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 20 * 60_000;
const MASTERS = [0, 1, 2];
const WORKER = 3;
const SPARE = 4;
const KUBECTL = 'kubectl --kubeconfig /etc/kubernetes/admin.conf --cache-dir=/dev/shm/kube';

let meta: Meta;
let history: Awaited<ReturnType<typeof beginHistory>> | undefined;
let traces: (index: number) => Promise<string[]>;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(async () => {
  await history?.drop();
  await meta.close();
});

const { host, entries, nodes, sh } = byNumber(() => meta);

/** Requests an operation, and prints its duration. */
async function ask(route: string, body: object): Promise<void> {
  const begun = Date.now();
  const answer = await meta.rest.raw('POST', `${PATH}${route}`, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  await untilDone(meta, NAME, OPERATION_MS);
  console.log(`${NAME}${route}: ${Math.round((Date.now() - begun) / 1000)} s`);
}

const newToken = async () => (await sh(0, `${KUBECTL} create token default --duration=24h`)).trim();
/** Returns the id of the key that has signed a token (RFC 7515, kid). */
const signerOf = (token: string): unknown =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid;
/** Returns what the API server of each control plane answers to a token. */
const answersTo = (token: string, masters = MASTERS) =>
  Promise.all(
    masters.map((index) =>
      sh(
        index,
        `curl -sk -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer ${token}' https://127.0.0.1:6443/api`,
      ),
    ),
  );
const keyNames = (index: number) =>
  sh(index, 'grep -o "name: .*" /etc/kubernetes/pki/matryoshka/encryption.yaml');
const secret = (index: number) =>
  sh(index, `${KUBECTL} get secret kept -o 'jsonpath={.data.text}' | base64 -d`);

async function rotated(): Promise<void> {
  history = await beginHistory(meta, NAME, host(WORKER));
  await asPlanned(meta, NAME, () => ask('/rotate', {}));
  await history.end();
  history = undefined;
  expect(await readyNodesOf(meta, NAME)).toEqual(nodes(...MASTERS, WORKER));
  for (const index of MASTERS) {
    expect(await keyNames(index), host(index).name).toBe(await keyNames(0));
    expect(await secret(index), host(index).name).toBe('of before');
    expect(await sh(index, 'matryoshka-watch differences'), host(index).name).toBe('');
  }
}

describe('a cluster of three control planes and a worker', () => {
  let first = '';
  let second = '';

  it('is created with encryption', async () => {
    const lists = { masterList: entries(...MASTERS), nodeList: entries(WORKER) };
    const kubeadm = { ...QUICK_KEYS, encryptionAtRest: true };
    await ask('', { name: NAME, ...lists, kubeadm, privateSSHKey: meta.privateKey });
    await sh(0, `${KUBECTL} create secret generic kept --from-literal=text='of before'`);
    first = await newToken();
  });

  it('gets new keys, keeps the tokens of before, and loses no request meanwhile', async () => {
    await rotated();
    expect((await keyNames(0)).trim().split('\n')).toEqual([expect.not.stringMatching(/ key1$/)]);
    second = await newToken();
    expect(signerOf(second)).not.toBe(signerOf(first));
    for (const token of [first, second]) expect(await answersTo(token)).toEqual(['200', '200', '200']);
  });

  it('refuses tokens from before the first rotation after the second', async () => {
    await rotated();
    expect(await answersTo(first)).toEqual(['401', '401', '401']);
    expect(await answersTo(second)).toEqual(['200', '200', '200']);
  });

  it('gives the keys to a control plane that comes later, and saves them with a snapshot', async () => {
    await ask('/replace', { from: host(2).ip, to: { ip: host(SPARE).ip } });
    expect(await answersTo(second, [0, 1, SPARE])).toEqual(['200', '200', '200']);
    expect(await secret(SPARE)).toBe('of before');
    await ask('/snapshot', {});
  });

  it('is deleted, and leaves nothing', async () => {
    await deleteCluster(meta, NAME);
    for (const index of [...MASTERS, WORKER, SPARE])
      expect(await traces(index), host(index).name).toEqual([]);
  });
});
