import { expect, it } from 'vitest';
import type { KubeObject, Resource } from '#api/meta.ts';
import { createLogger } from '#base/log.ts';
import { CONFIG_MAPS, useNamespace } from '../testing/test-namespace.ts';
import { createRecorder } from './recorder.ts';

interface Event extends KubeObject {
  reason: string;
  message: string;
  count: number;
}
const EVENTS: Resource = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true };

const test = useNamespace('recorder');

it('counts, combines and limits Events, and writes them when it stops', async () => {
  const { client, namespace } = test;
  const about = await client.create<KubeObject>(CONFIG_MAPS, { metadata: { namespace, name: 'a' } });
  const recorder = createRecorder({
    client,
    component: 'test',
    instance: 'test-0',
    log: createLogger('silent'),
  });
  for (let at = 0; at < 3; at += 1) recorder.event(about, 'Warning', 'Refused', 'no');
  for (let at = 0; at < 40; at += 1) recorder.event(about, 'Normal', 'Tried', `attempt ${at}`);
  await recorder.stop();
  recorder.event(about, 'Normal', 'Late', 'after the end');
  const { items } = await client.list<Event>(EVENTS, { namespace, fieldSelector: 'involvedObject.name=a' });
  expect(items.find(({ reason }) => reason === 'Refused')).toMatchObject({ count: 3, message: 'no' });
  const tried = items.filter(({ reason }) => reason === 'Tried');
  expect(tried).toHaveLength(11);
  const combined = tried.find(({ message }) => message.startsWith('(combined'));
  // In all, 25 for one object and reason: 10 single, 15 combined.
  expect(combined).toMatchObject({ count: 15, message: '(combined from similar events): attempt 24' });
  expect(items).toHaveLength(12);
});

it('never throws if an Event cannot be written', async () => {
  const recorder = createRecorder({ client: test.client, component: 'test', log: createLogger('silent') });
  const nowhere = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'absent-namespace', name: 'a' },
  };
  recorder.event(nowhere, 'Normal', 'Lost', 'x'.repeat(5000));
  recorder.event({ metadata: {} }, 'Normal', 'Nameless', 'x');
  await recorder.stop();
});
