import type { OperationStatus } from '../kubernetes-cluster.ts';

/** Returns a creation as `status.operation` shows it while it runs. */
export const runningOperation = (more: Partial<OperationStatus> = {}): OperationStatus => ({
  id: 'x',
  name: 'create',
  sequence: 1,
  attempt: 1,
  word: 'creating',
  requestId: '',
  specHash: '',
  generation: 1,
  spec: { cluster: {} },
  step: 'masters',
  startedAt: '2026-01-01T00:00:00Z',
  ...more,
});
