import { expect, it } from 'vitest';
import { deletedByOf, deleterOf } from './deleter.ts';
import { annotations } from './names.ts';

const deletionTimestamp = '2026-01-01T10:00:00Z';
const asked = { [annotations.requestedBy]: 'alice', [annotations.operation]: 'scale-up-finished' };
const by = (marked: Record<string, string>) =>
  deleterOf({
    metadata: { name: 'demo', deletionTimestamp, annotations: { ...asked, ...marked } },
    spec: { cluster: {} },
  });
const note = (time: string) => ({ [annotations.deletedBy]: deletedByOf('bob', new Date(time)) });

it('names no user for a deletion by kubectl, not even that of the last operation', () => {
  expect(by({})).toBeUndefined();
});

it('names the user of a DELETE by REST, but not of an earlier DELETE that failed', () => {
  expect(by(note('2026-01-01T10:00:00.700Z'))).toBe('bob');
  expect(by(note('2026-01-01T09:58:00Z'))).toBeUndefined();
  expect(by(note('2026-01-01T10:01:00Z'))).toBeUndefined();
  expect(by({ [annotations.deletedBy]: 'bob' })).toBeUndefined();
});

it('names the user who wrote "terminating"', () => {
  expect(by({ [annotations.operation]: 'terminating' })).toBe('alice');
});
