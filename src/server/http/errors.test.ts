import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ApiError } from '#runtime/wire/api-error.ts';
import { answerTo, envelope, HttpError } from './errors.ts';
import { asSpelledByRest, problemsFrom } from './problems.ts';

const forbidden = (message: string) => new ApiError('Forbidden', message, { status: 403 });

describe('answerTo', () => {
  const causes = [
    {
      field: 'spec.cluster.timeout_mins',
      message: 'Invalid value: "x": is no number',
      reason: 'FieldValueInvalid',
    },
  ];
  it.each<[string, unknown, number | undefined]>([
    ['its own', new HttpError(404, 'x'), 404],
    ['a refusal of admission', new ApiError('Invalid', 'denied', { status: 422, causes }), 422],
    ['a conflict', new ApiError('Conflict', 'x', { status: 409 }), 409],
    ['a name that is taken', new ApiError('AlreadyExists', 'x', { status: 409 }), 409],
    ['a page that is too old to go on from', new ApiError('Expired', 'x', { status: 410 }), 410],
    [
      'a right that the server lacks itself',
      forbidden(
        'secrets is forbidden: User "system:serviceaccount:m:server" cannot create resource "secrets" in the namespace "a"',
      ),
      503,
    ],
    ['a quota', forbidden('exceeded quota: clusters, requested: 1'), 403],
    ['an API server that is away', new ApiError('Connection', 'refused at 10.0.0.1', { status: 0 }), 503],
    ['a timeout', new ApiError('Timeout', 'x', { status: 0 }), 503],
    ['a bug', new TypeError('x is not a function'), undefined],
    ['what Fastify refuses', { statusCode: 413, code: 'FST_ERR_CTP_BODY_TOO_LARGE' }, 413],
    ['what claims to be a failure', { statusCode: 500, code: 'X' }, undefined],
  ])('chooses the status of %s', (_what, error, status) => {
    expect(answerTo(error)?.statusCode).toBe(status);
  });

  it('names fields as REST does, and hides internal addresses', () => {
    const invalid = answerTo(new ApiError('Invalid', 'denied', { status: 422, causes }));
    expect(invalid?.problems).toEqual([{ field: 'timeoutMins', reason: 'is no number' }]);
    expect(answerTo(new ApiError('Connection', 'at 10.0.0.1', { status: 0 }))?.message).not.toContain(
      '10.0.0.1',
    );
    expect(asSpelledByRest({ field: 'spec.cluster.nodeList[0].ip', reason: '' }).field).toBe(
      'nodeList[0].ip',
    );
    const lack = answerTo(
      forbidden('x is forbidden: User "system:serviceaccount:m:s" cannot get resource "x"'),
    );
    expect(lack?.message).toBe(
      'the operator lacks a right: it cannot get resource "x"; ask an administrator to serve the namespace',
    );
    expect(envelope(422, 'x')).toEqual({ code: 'Unprocessable Entity', message: 'x' });
  });
});

describe('problemsFrom', () => {
  const schema = z.strictObject({
    hosts: z.array(z.object({ ip: z.string(), port: z.int().max(9, { error: 'is too large' }).optional() })),
    privateSSHKey: z.string().max(3, { error: 'is too long' }).optional(),
  });
  const problems = (input: unknown) => problemsFrom(schema.safeParse(input).error?.issues ?? [], input);

  it('names paths and values, but no secret', () => {
    expect(problems({ hosts: [{ ip: 7, port: 22 }, {}], privateSSHKey: 'secret', more: 1 })).toEqual([
      { field: 'hosts[0].ip', value: 7, reason: 'must be of type string' },
      { field: 'hosts[0].port', value: 22, reason: 'is too large' },
      { field: 'hosts[1].ip', reason: 'is required' },
      { field: 'privateSSHKey', reason: 'is too long' },
      { field: 'more', reason: 'is not a field of this request' },
    ]);
    expect(problems([])).toEqual([{ field: 'body', reason: 'must be of type object' }]);
  });
});
