import { expect, it } from 'vitest';
import type { Pod } from '#api/core.ts';
import { troubleOf } from './trouble.ts';

const MADE = Date.parse('2026-01-01T00:00:00Z');
const now = (seconds: number): Date => new Date(MADE + seconds * 1_000);
const pod = (status: NonNullable<Pod['status']>): Pod => ({
  metadata: { name: 'w', creationTimestamp: new Date(MADE).toISOString() },
  status,
});
const waiting = (reason: string, message?: string): Pod =>
  pod({
    phase: 'Pending',
    containerStatuses: [{ name: 'c', state: { waiting: { reason, ...(message ? { message } : {}) } } }],
  });
const homeless = pod({
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no node' }],
});

it.each<[string, Pod, number, string, string, boolean]>([
  ['has only begun', pod({}), 1, 'Starting', 'waits until the editor listens', false],
  ['is still being made', waiting('ContainerCreating'), 99, 'Starting', 'waits until', false],
  [
    'pulls for the first time in vain',
    waiting('ErrImagePull', 'no host'),
    1,
    'ImageNotPulled',
    'no host',
    false,
  ],
  ['pulls in vain again', waiting('ImagePullBackOff', 'no host'), 1, 'ImageNotPulled', 'no host', true],
  ['has an image that is none', waiting('InvalidImageName'), 1, 'InvalidImage', 'InvalidImageName', true],
  ['crashes', waiting('CrashLoopBackOff', 'back-off'), 1, 'Crashes', 'back-off', true],
  ['cannot be made', waiting('CreateContainerError', 'no such path'), 1, 'CannotStart', 'no such path', true],
  ['has just found no node', homeless, 19, 'Unschedulable', 'no node', false],
  ['finds no node', homeless, 20, 'Unschedulable', 'no node', true],
  [
    'was evicted',
    pod({ phase: 'Failed', reason: 'Evicted', message: 'low' }),
    1,
    'PodFailed',
    'Evicted: low',
    true,
  ],
  ['ended without a word', pod({ phase: 'Succeeded' }), 1, 'PodFailed', 'another is made', true],
])('a pod that %s', (_how, one, seconds, reason, message, stays) => {
  expect(troubleOf(one, now(seconds))).toEqual({ reason, message: expect.stringContaining(message), stays });
});
