import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Pod } from '#api/core.ts';
import { readManifests } from './manifests.ts';
import { deploymentsIn, whyNotReady } from './rollout.ts';

const pod = (created: string, status: NonNullable<Pod['status']>): Pod => ({
  metadata: { name: `p-${created}`, labels: { app: 'server' }, creationTimestamp: created },
  status,
});

describe('a waiting rollout', () => {
  it.each<[string, Pod[], string]>([
    ['no pod', [], 'no pod yet'],
    [
      'its node',
      [
        pod('1', {
          conditions: [{ type: 'PodScheduled', status: 'False', message: '0/1 nodes: unbound claim' }],
        }),
      ],
      '0/1 nodes: unbound claim',
    ],
    [
      'its image',
      [
        pod('1', {
          conditions: [{ type: 'Ready', status: 'False', message: 'containers with unready status' }],
          containerStatuses: [
            { name: 'c', state: { waiting: { reason: 'ErrImagePull', message: 'no such host' } } },
          ],
        }),
      ],
      'ErrImagePull: no such host',
    ],
    ['the younger of two', [pod('1', { phase: 'Running' }), pod('2', { phase: 'Pending' })], 'Pending'],
  ])('reports that it waits for %s', (_, pods, said) => expect(whyNotReady(pods, 'server')).toBe(said));
});

it('waits only for Deployments of the operator, not of add-ons', () => {
  const of = (folder: string) => readManifests(join(import.meta.dirname, '../../deploy', folder));
  const own = deploymentsIn(of('manifests'), 'matryoshka-system');
  expect(own).toContain('matryoshka-controller');
  expect(deploymentsIn([...of('manifests'), ...of('addons')], 'matryoshka-system')).toEqual(own);
});
