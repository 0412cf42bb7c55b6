import { Metadata } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { Access } from '#access/access.ts';
import { ReviewFailed } from '#access/reviews.ts';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { ApiError, type ApiReason } from '#runtime/wire/api-error.ts';
import type { Workspace } from '../api.ts';
import { CallError, callErrorOf } from './call-error.ts';
import { callersBy } from './callers.ts';
import { infoOf, keyFrom, reportedOf, workspaceFrom } from './messages.ts';

const info = { name: 'w', namespace: 'n', image: 'x', port: 1, resourceLimit: null };

describe('a PodInfo', () => {
  it('becomes a Workspace without limits and volume if it names none', () => {
    expect(workspaceFrom(info)).toEqual({
      key: { namespace: 'n', name: 'w' },
      spec: { image: 'x', port: 1 },
    });
    const empty = { ...info, resourceLimit: { cpu: '', Memory: '', Storage: '' } };
    expect(workspaceFrom(empty).spec).toEqual({ image: 'x', port: 1 });
  });

  it('becomes a Workspace with the limits and the volume that it names', () => {
    const resourceLimit = { cpu: '1.5', Memory: '2Gi', Storage: '10Gi' };
    expect(workspaceFrom({ ...info, resourceLimit }).spec).toEqual({
      image: 'x',
      port: 1,
      resources: { limits: { cpu: '1.5', memory: '2Gi' } },
      storage: { size: '10Gi' },
    });
  });

  it('is rejected with all errors, each with its value and the fix', () => {
    const wrong = { ...info, name: 'A', port: 0, resourceLimit: { cpu: '', Memory: '1 GB', Storage: '' } };
    expect(() => workspaceFrom(wrong)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(
          /name: "A" must have.*; port: 0 must be a port.*; resourceLimit\.Memory: "1 GB" must be a size such as/,
        ),
      }),
    );
  });

  it.each([undefined, null, 'text', {}])('is rejected if it is %j', (message) => {
    expect(() => workspaceFrom(message)).toThrow(CallError);
    expect(() => keyFrom(message)).toThrow(CallError);
  });
});

describe('a Workspace in an answer', () => {
  const metadata = { namespace: 'n', name: 'w' };
  const fresh: Workspace = { metadata, spec: { image: 'x', port: 80 } };
  it('has a phase and a port before it has a status', () => {
    expect(reportedOf(fresh)).toEqual({ status: 1, message: 'Pending' });
    expect(infoOf(fresh)).toEqual({ nodeName: '', ip: '', port: 80 });
  });
  it('has the address of its pod', () => {
    const status = { phase: 'Running', nodeName: 'a', ip: '10.0.0.1', port: 81 } as const;
    expect(infoOf({ ...fresh, status })).toEqual({ nodeName: 'a', ip: '10.0.0.1', port: 81 });
  });
});

describe('an error', () => {
  it.each<[ApiReason, string, string]>([
    ['NotFound', 'x', 'NOT_FOUND'],
    ['AlreadyExists', 'x', 'ALREADY_EXISTS'],
    ['Invalid', 'x', 'INVALID_ARGUMENT'],
    ['Conflict', 'x', 'ABORTED'],
    ['Forbidden', 'exceeded quota: a', 'RESOURCE_EXHAUSTED'],
    ['Forbidden', 'the namespace is being terminated', 'FAILED_PRECONDITION'],
    ['Timeout', 'x', 'UNAVAILABLE'],
    ['Unauthorized', 'x', 'UNAVAILABLE'],
  ])('from the API server, %s: %s, becomes %s', (reason, message, code) => {
    expect(callErrorOf(new ApiError(reason, message, { status: 0 })).code).toBe(code);
  });
  it('in a review becomes UNAVAILABLE, and any other one reveals nothing', () => {
    expect(callErrorOf(new ReviewFailed('later')).code).toBe('UNAVAILABLE');
    const ours = callErrorOf(new TypeError('secret'));
    expect([ours.code, ours.message]).toEqual(['INTERNAL', expect.not.stringContaining('secret')]);
  });
});

describe('a caller', () => {
  const access: Access = {
    personOf: async (token) => (token === 'good' ? { username: 'a', groups: [], extra: {} } : undefined),
    refusal: async () => undefined,
    secretRefusal: async () => undefined,
  };
  const nobody = callersBy(access, createManualClock());
  const of = (...values: string[]): Metadata => {
    const metadata = new Metadata();
    for (const value of values) metadata.add('authorization', value);
    return metadata;
  };
  it('is the user of its only token', async () => {
    expect(await nobody.personOf(of('Bearer good'))).toMatchObject({ username: 'a' });
    expect(await nobody.personOf(of('bearer good'))).toMatchObject({ username: 'a' });
  });
  it.each([
    [[]],
    [['good']],
    [['Basic good']],
    [['Bearer bad']],
    [['Bearer good', 'Bearer good']],
    [['Bearer a b']],
  ])('is unauthenticated with %j', async (values) => {
    await expect(nobody.personOf(of(...values))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('keeps a permission for two seconds; a refusal is checked again each time', async () => {
    const clock = createManualClock();
    const asked: unknown[] = [];
    let refusal: string | undefined = 'you may not';
    const refusing = async (...permission: unknown[]) => {
      asked.push(permission);
      return refusal;
    };
    const callers = callersBy({ ...access, refusal: refusing }, clock);
    const person = await callers.personOf(of('Bearer good'));
    const may = (namespace: string) => callers.allow(person, 'create', { namespace, name: 'w' });
    for (let times = 0; times < 2; times += 1)
      await expect(may('n')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(asked).toHaveLength(2);
    refusal = undefined;
    await Promise.all([may('n'), may('n')]);
    await may('n');
    expect(asked).toHaveLength(3);
    await may('other');
    expect(asked).toHaveLength(4);
    await clock.advance(2_000);
    refusal = 'you may not any more';
    await expect(may('n')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });
});
