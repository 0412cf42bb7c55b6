import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { operationIdOf } from '#api/cluster-facts.ts';
import {
  CONFIG_MAPS,
  type ConfigMap,
  JOBS,
  type Job,
  PODS,
  SECRETS,
  type Secret,
  secretText,
} from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import {
  annotations,
  internalAnnotations,
  labels,
  logHeadName,
  logPackName,
  logPartName,
  reportSecretName,
} from '#api/names.ts';
import { runningOperation } from '#api/testing/running-operation.ts';
import { eventually } from '#base/testing/eventually.ts';
import { LOG_BYTES } from '#protocol/log.ts';
import { BROKEN_OFF } from '#rest/read-routes.ts';
import type { Attempt } from '../testing/attempt.ts';
import { readEvents } from '../testing/event-reader.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';

let world: RestWorld;
let url: string;
let made = 0;
let attempt: Attempt;
let token: string;
beforeAll(async () => {
  world = await restWorld();
  url = await world.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => world.stop());
beforeEach(async () => {
  made += 1;
  attempt = await world.attempt(`create-j${made}-1`, 'demo');
  token = await attempt.token();
});

const report = (more: object = {}) => ({
  name: 'demo',
  namespace: world.namespace,
  region: '',
  masterList: [{ ip: '10.9.0.1' }],
  nodeList: [],
  success: true,
  message: 'done',
  kubeconfig: 'apiVersion: v1\n',
  hosts: [{ ip: '10.9.0.1', ok: true }],
  ...more,
});
const callback = (who: string | undefined, more: object = {}, path = 'demo/create') =>
  world.call(who, 'POST', `/region/default/cluster/${path}/callback`, report(more));
const kept = (job = attempt.job) =>
  world.admin.find<Secret>(SECRETS, { namespace: world.reportsNamespace, name: reportSecretName(job) });

async function endJob(): Promise<void> {
  const { operatorNamespace: namespace } = world;
  const status = { phase: 'Succeeded', containerStatuses: [] };
  const { name = '' } = attempt.pod.metadata;
  await world.admin.patch(PODS, { namespace, name }, { status }, { type: 'merge', subresource: 'status' });
  await eventually(async () => {
    const job = await world.admin.get<Job>(JOBS, { namespace, name: attempt.job });
    return job.status?.conditions?.find(({ type }) => type === 'Complete');
  });
}

describe('callbacks', () => {
  it('keep the first report, accept its repetition, and refuse another report', async () => {
    expect(await callback(token)).toMatchObject({ status: 200, body: { code: 'OK', message: 'success' } });
    expect((await callback(token)).status).toBe(200);
    const other = await callback(token, { success: false, message: 'no' });
    expect(other).toMatchObject({ status: 409, body: { code: 'Conflict' } });
    const secret = await kept();
    expect(JSON.parse(secretText(secret, 'report') ?? '')).toEqual({
      success: true,
      message: 'done',
      kubeconfig: 'apiVersion: v1\n',
      hosts: [{ ip: '10.9.0.1', ok: true, did: [] }],
    });
    expect(secret).toMatchObject({
      metadata: {
        labels: { [labels.purpose]: 'report', [labels.clusterId]: 'c1' },
        annotations: { [internalAnnotations.cluster]: `${world.namespace}/demo` },
      },
      immutable: true,
    });
  });

  it('keep one of many concurrent reports', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => callback(token, { message: `${index % 2}` })),
    );
    const { message } = JSON.parse(secretText(await kept(), 'report') ?? '{}') as { message: string };
    expect(answers.map(({ status }) => status)).toEqual(
      answers.map((_, index) => (`${index % 2}` === message ? 200 : 409)),
    );
  });

  it('refuse every token but that of the pod of the attempt', async () => {
    const { operatorNamespace, namespace } = world;
    const foreign = await world.attempt(`create-f${made}-1`, 'another');
    const unbound = await world.tokenOf(operatorNamespace, 'runner', { audiences: ['matryoshka-callback'] });
    const person = await world.tokenOf(namespace, 'alice', { audiences: ['matryoshka-callback'] });
    const refused: [string | undefined, number][] = [
      [undefined, 401],
      ['nonsense', 401],
      [world.tokens.alice, 401],
      [await attempt.token('https://kubernetes.default.svc'), 401],
      [unbound, 403],
      [person, 403],
      [await foreign.token(), 403],
    ];
    for (const [who, status] of refused) expect([who, (await callback(who)).status]).toEqual([who, status]);
    expect((await callback(token, {}, 'demo/delete')).status).toBe(403);
    expect((await callback(token, { namespace: 'default' })).status).toBe(403);
    expect((await callback(token, { name: 'other' })).status).toBe(422);
    expect((await callback(token, { success: 'yes' })).status).toBe(400);
    expect(await kept()).toBeUndefined();
    // The callback token is valid for nothing else.
    expect((await world.call(token, 'GET', `/clusters?namespace=${namespace}`)).status).toBe(401);
  });

  it('refuse the token of a deleted pod', async () => {
    const { name = '', uid = '' } = attempt.pod.metadata;
    const { operatorNamespace: namespace } = world;
    await world.admin.delete(PODS, { namespace, name }, { preconditions: { uid }, gracePeriodSeconds: 0 });
    // While the Job controller's finalizer holds it, the pod exists and may call.
    const released = { metadata: { finalizers: null } };
    await world.admin.patch(PODS, { namespace, name }, released, { type: 'merge' }).catch(() => {});
    await expect.poll(() => world.admin.find(PODS, { namespace, name })).toBeUndefined();
    expect((await callback(token)).status).toBe(401);
    expect(await kept()).toBeUndefined();
  });

  it('refuse a report after the end of the Job, but not its repetition', async () => {
    await endJob();
    expect((await callback(token)).status).toBe(409);
    expect(await kept()).toBeUndefined();

    attempt = await world.attempt(`create-l${made}-1`, 'demo');
    token = await attempt.token();
    expect((await callback(token)).status).toBe(200);
    await endJob();
    expect((await callback(token)).status).toBe(200);
  });

  it('refuse an attempt that a later one replaced', async () => {
    const { namespace } = world;
    const cluster: KubernetesCluster = {
      metadata: { namespace, name: 'demo' },
      spec: { cluster: { masterList: [{ ip: '10.9.0.1' }] } },
    };
    await world.admin.create(KUBERNETES_CLUSTERS, cluster);
    await setOperation('demo', { sequence: 1, attempt: 2 });
    expect((await callback(token)).status).toBe(409);
    // The attempts of an auxiliary Job are counted separately.
    const auxiliary = await world.attempt(`precheck-e${made}-1`, 'demo');
    const key = { namespace: world.operatorNamespace, name: `precheck-e${made}-1` };
    const marked = { metadata: { labels: { [labels.auxiliary]: 'precheck' } } };
    await world.admin.patch(JOBS, key, marked, { type: 'merge' });
    expect((await callback(await auxiliary.token(), {}, 'demo/precheck')).status).toBe(200);
    await world.admin.delete(KUBERNETES_CLUSTERS, { namespace, name: 'demo' });
  });
});

async function setOperation(name: string, more: object): Promise<void> {
  const operation = runningOperation(more);
  const where = { namespace: world.namespace, name };
  const options = { type: 'merge', subresource: 'status' } as const;
  await world.admin.patch(KUBERNETES_CLUSTERS, where, { status: { operation } }, options);
}

const event = (message: string, more: object = {}): string =>
  `${JSON.stringify({ time: '2026-01-01T10:00:00.000Z', event: 'info', message, ...more })}\n`;
const log = async (offset: number, text: string, step?: string, job = attempt.job) => {
  const query = `offset=${offset}${step === undefined ? '' : `&step=${encodeURIComponent(step)}`}`;
  const type = { 'content-type': 'application/x-ndjson' };
  const { status, body } = await world.call(token, 'POST', `/jobs/${job}/log?${query}`, text, type);
  return { status, next: (body as { next?: number }).next };
};
const map = (name: string) =>
  world.admin.find<ConfigMap>(CONFIG_MAPS, { namespace: world.reportsNamespace, name });
const part = (number: number) => map(logPartName(attempt.job, number));
const head = () => map(logHeadName(attempt.job));

describe('the log of a Job', () => {
  it('grows by immutable parts, resumes, and shows the step in its head', async () => {
    const [first, second] = [event('eins'), event('zwei: äöü')];
    const end = Buffer.byteLength(first + second);
    expect(await log(0, '', 'precheck')).toEqual({ status: 200, next: 0 });
    expect((await head())?.metadata.annotations?.[internalAnnotations.step]).toBe('precheck');
    expect(await log(0, first, 'precheck')).toEqual({ status: 200, next: first.length });
    expect(await log(0, first, 'precheck')).toEqual({ status: 409, next: first.length });
    expect(await log(9999, second)).toEqual({ status: 409, next: first.length });
    // Half of a line waits for its other half.
    const half = second.slice(0, 5);
    expect(await log(first.length, `${second}${half}`, 'Masters')).toEqual({ status: 200, next: end });
    expect(await head()).toMatchObject({
      metadata: {
        labels: { [labels.purpose]: 'log', [labels.clusterId]: 'c1', [labels.job]: attempt.job },
        annotations: {
          [internalAnnotations.cluster]: `${world.namespace}/demo`,
          [internalAnnotations.step]: 'Masters',
        },
      },
    });
    const uid = (await head())?.metadata.uid;
    for (const [number, text, offset] of [
      [0, first, 0],
      [1, second, first.length],
    ] as const)
      expect(await part(number)).toMatchObject({
        metadata: {
          labels: { [labels.purpose]: 'log-part', [labels.job]: attempt.job },
          annotations: { [internalAnnotations.offset]: String(offset) },
          // The garbage collector removes the part with its head.
          ownerReferences: [{ uid }],
        },
        immutable: true,
        data: { events: text },
      });
    expect(await part(2)).toBeUndefined();
  });

  it('is split at line ends, and reports when it is full', async () => {
    const line = event('x'.repeat(3000));
    const chunk = line.repeat(300);
    let sent = 0;
    while (sent < LOG_BYTES + chunk.length) {
      const { status, next = 0 } = await log(sent, chunk);
      expect(status).toBe(200);
      expect(next).toBeGreaterThan(sent);
      sent = next;
    }
    let total = 0;
    let last = '';
    for (let number = 0; ; number += 1) {
      const { data, metadata } = (await part(number)) ?? { metadata: {} };
      const text = data?.['events'];
      if (text === undefined) break;
      expect(text.endsWith('}\n')).toBe(true);
      expect(metadata.annotations?.[internalAnnotations.offset]).toBe(String(total));
      total += text.length;
      last = text;
    }
    expect(total).toBeLessThanOrEqual(LOG_BYTES);
    expect(last.match(/the log is full.*an attempt keeps 8 MiB/g)).toHaveLength(1);
    expect((await log(sent, '', 'Nodes')).status).toBe(200);
    expect((await head())?.metadata.annotations?.[internalAnnotations.step]).toBe('Nodes');
  });

  it('is packed once its Job has reported', async () => {
    let sent = 0;
    for (const line of ['one', 'two', 'three']) sent = (await log(sent, event(line))).next ?? 0;
    expect((await callback(token)).status).toBe(200);
    await expect.poll(() => part(0)).toBeUndefined();
    expect(await map(logPackName(attempt.job, 0))).toMatchObject({ immutable: true });
  });

  it('stays intact with concurrent writers', async () => {
    const lines = Array.from({ length: 10 }, (_, index) => event(`line ${index}`));
    const answers = await Promise.all(lines.map((text) => log(0, text)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(lines).toContain((await part(0))?.data?.['events']);
  });

  it('notifies only the run of the cancelled operation to stop', async () => {
    const name = `halted${made}`;
    attempt = await world.attempt(`create-${name}-1`, name);
    token = await attempt.token();
    await world.admin.create(KUBERNETES_CLUSTERS, {
      metadata: { namespace: world.namespace, name },
      spec: { cluster: {} },
    } satisfies KubernetesCluster);
    const answer = async () => {
      const path = `/jobs/${attempt.job}/log?offset=0`;
      return (await world.call(token, 'POST', path, '', { 'content-type': 'application/x-ndjson' })).body;
    };
    const cancelledAt = '2026-01-01T10:00:00Z';
    const id = operationIdOf('c1', 1);
    await setOperation(name, { id });
    expect(await answer()).toEqual({ next: 0 });
    // A request without chunk and step stores nothing.
    const key = { namespace: world.reportsNamespace, name: logHeadName(attempt.job) };
    expect(await world.admin.find(CONFIG_MAPS, key)).toBeUndefined();
    await setOperation(name, { id: operationIdOf('c1', 2), cancelledAt });
    expect(await answer()).toEqual({ next: 0 });
    await setOperation(name, { id, cancelledAt });
    await expect.poll(answer, { timeout: 5_000 }).toEqual({ next: 0, stop: true });
  });

  it('refuses writes of another Job and invalid offsets', async () => {
    expect((await log(0, event('x'), undefined, 'create-other-1')).status).toBe(403);
    expect((await log(-1, event('x'))).status).toBe(422);
    const wrong = await world.call(world.tokens.alice, 'POST', `/jobs/${attempt.job}/log?offset=0`, 'x', {
      'content-type': 'application/x-ndjson',
    });
    expect(wrong.status).toBe(401);
  });
});

describe('GET operation events', () => {
  it('sends what the run reports, and its end; a client that was cut off gets the rest', async () => {
    const { namespace } = world;
    const name = `events${made}`;
    attempt = await world.attempt(`create-${name}-1`, name);
    token = await attempt.token();
    await world.admin.create<KubernetesCluster>(KUBERNETES_CLUSTERS, {
      metadata: { namespace, name, annotations: { [annotations.operation]: 'creating' } },
      spec: { cluster: { masterList: [{ ip: '10.9.0.1' }] } },
    });
    await setOperation(name, { id: name });
    const path = `${url}/api/v1/region/default/cluster/${name}/operations/${name}/events?namespace=${namespace}`;
    const stream = await readEvents(path, world.tokens.alice);
    const first = event('', { event: 'play', play: 'Join hosts', message: undefined });
    await log(0, first);
    expect(await stream.next()).toMatchObject({
      event: 'run',
      id: '1.1',
      data: { event: 'play', step: 'Join hosts', attempt: 1 },
    });
    const second = event('\u001b[31mred', { event: 'failed', host: '10.9.0.1', task: 'Join', seconds: 2 });
    await log(first.length, second);
    expect(await stream.next()).toMatchObject({
      id: '1.2',
      data: { event: 'failed', host: '10.9.0.1', task: 'Join', seconds: 2, message: '[31mred' },
    });
    stream.close();
    await log(first.length + second.length, event('last'));
    await setOperation(name, { id: name, result: 'failed' });
    const again = await readEvents(path, world.tokens.alice, '1.2');
    const rest = await again.until(({ event: kind }) => kind === 'end');
    expect(rest).toMatchObject([
      { event: 'run', id: '1.3', data: { message: 'last' } },
      { event: 'end', data: { event: 'end', message: 'failed' } },
    ]);
    expect(await again.next()).toBeUndefined();
    const other = path.replace(`operations/${name}`, 'operations/other');
    expect((await readEvents(other, world.tokens.alice)).status).toBe(404);
    expect((await readEvents(path, world.tokens.mallory)).status).toBe(403);
  });
});

describe('GET logs', () => {
  it('returns the log in the envelope, or live until the operation ends', async () => {
    const { namespace } = world;
    const name = `live${made}`;
    attempt = await world.attempt(`create-${name}-1`, name);
    token = await attempt.token();
    const path = `/region/default/cluster/${name}/logs?namespace=${namespace}`;
    const cluster: KubernetesCluster = {
      metadata: { namespace, name, annotations: { [annotations.operation]: 'creating' } },
      spec: { cluster: { masterList: [{ ip: '10.9.0.1' }] } },
    };
    await world.admin.create(KUBERNETES_CLUSTERS, cluster);
    const now = async () => (await world.call(world.tokens.alice, 'GET', path)).body;
    expect(await now()).toEqual({ code: 'OK', message: 'the request waits for the controller\n' });

    const authorization = `Bearer ${world.tokens.alice}`;
    const response = await fetch(`${url}/api/v1${path}&follow=true`, {
      headers: { authorization },
    });
    expect(response.headers.get('content-type')).toContain('text/plain');
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let seen = '';
    const until = async (text: string) => {
      while (!seen.includes(text)) {
        const { value, done } = (await reader?.read()) ?? { done: true };
        if (done) throw new Error(`ended without ${text}: ${seen}`);
        seen += value;
      }
    };
    await until(name);
    await setOperation(name, { id: name });
    expect(await now()).toMatchObject({
      message: expect.stringMatching(/^create is under way.*logged nothing yet/),
    });
    const first = event('', { event: 'ok', task: 'Join', host: 'node-1', seconds: 1.24, message: undefined });
    await log(0, first);
    await until('10:00:00  node-1  Join  ok  1.2 s\n');
    await log(first.length, event('second'));
    await until('10:00:00  second\n');
    await log(first.length + event('second').length, event('last'));
    await setOperation(name, { id: name, result: 'finished' });
    await until('create finished\n');
    expect(seen).toContain('last\n');
    expect(await reader?.read()).toMatchObject({ done: true });

    const whole = await world.call(world.tokens.alice, 'GET', path);
    expect(whole.body).toEqual({
      code: 'OK',
      message: '10:00:00  node-1  Join  ok  1.2 s\n10:00:00  second\n10:00:00  last\n',
    });
    const plain = await world.call(world.tokens.alice, 'GET', path, undefined, { accept: 'text/plain' });
    expect(plain.text).toContain('10:00:00  last\n');

    // After an edit by kubectl without an operation annotation, the log waits for the next operation and does not show the
    // last one.
    const judged = { status: { observedGeneration: 1 } };
    const where = { namespace, name };
    await world.admin.patch(KUBERNETES_CLUSTERS, where, judged, { type: 'merge', subresource: 'status' });
    const edit = {
      metadata: { annotations: { [annotations.operation]: 'create-finished' } },
      spec: { cluster: { nodeList: [{ ip: '10.9.0.2' }] } },
    };
    await world.admin.patch(KUBERNETES_CLUSTERS, where, edit, { type: 'merge' });
    expect(await now()).toEqual({ code: 'OK', message: 'the request waits for the controller\n' });
  });

  it('ends at once when the server stops, and reports the interruption', async () => {
    const { namespace } = world;
    const name = `stopped${made}`;
    const cluster: KubernetesCluster = {
      metadata: { namespace, name, annotations: { [annotations.operation]: 'creating' } },
      spec: { cluster: { masterList: [{ ip: '10.9.0.1' }] } },
    };
    await world.admin.create(KUBERNETES_CLUSTERS, cluster);
    const path = `/region/default/cluster/${name}/logs?namespace=${namespace}&follow=true`;
    // The server sends its headers as soon as it follows.
    const following = await world.app.inject({
      method: 'GET',
      url: `/api/v1${path}`,
      headers: { authorization: `Bearer ${world.tokens.alice}` },
      payloadAsStream: true,
    });
    await world.app.close();
    expect(await text(following.stream())).toBe(`--- ${namespace}/${name}\n${BROKEN_OFF}\n`);
    expect(following.trailers['matryoshka-log-end']).toBe('broken-off');
  });
});
