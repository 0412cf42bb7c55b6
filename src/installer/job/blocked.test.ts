import { expect, it } from 'vitest';
import type { Job, Pod } from '#api/core.ts';
import { internalAnnotations } from '#api/names.ts';
import { blockedBy } from './blocked.ts';

const jobOf = (image: string): Job => ({
  metadata: { annotations: { [internalAnnotations.image]: image } },
  // A policy may have changed the image.
  spec: { template: { spec: { containers: [{ name: 'ansibleinit', image: `mirror/${image}` }] } } },
});
const waiting = (reason: string): Pod => ({
  metadata: {},
  status: { containerStatuses: [{ name: 'ansibleinit', state: { waiting: { reason, message: 'said' } } }] },
});
const unplaced: Pod = {
  metadata: {},
  status: {
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' }],
  },
};

it('reports why a pod cannot start, and how to fix it', () => {
  expect(blockedBy(jobOf('a'), waiting('ErrImagePull'), 'a')).toEqual({
    reason: 'ErrImagePull',
    message: 'said',
    mend: expect.stringContaining('MATRYOSHKA_RUNNER_IMAGE'),
  });
  expect(blockedBy(jobOf('a'), unplaced, 'a')).toMatchObject({
    reason: 'Unschedulable',
    mend: expect.stringContaining('room'),
  });
  expect(blockedBy(jobOf('a'), waiting('CreateContainerConfigError'), 'a')).toMatchObject({
    message: 'said',
  });
  expect(blockedBy(jobOf('a'), waiting('ContainerCreating'), 'a')).toBeUndefined();
});

it('calls a Job outdated only if its image cannot be pulled and was replaced since', () => {
  expect(blockedBy(jobOf('a'), waiting('ImagePullBackOff'), 'b')).toMatchObject({ outdated: true });
  expect(blockedBy(jobOf('a'), unplaced, 'b')).not.toHaveProperty('outdated');
  expect(blockedBy({ metadata: {} }, waiting('ImagePullBackOff'), 'b')).not.toHaveProperty('outdated');
});
