import { expect, it } from 'vitest';
import { isTooLargeResourceVersion, isUncertain } from './api-error.ts';
import { errorFromAnswer, errorFromStatus } from './status-error.ts';

const status = (fields: object) =>
  JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', ...fields });

it.each([
  [409, 'AlreadyExists', 'AlreadyExists'],
  [409, 'Conflict', 'Conflict'],
  [410, 'Expired', 'Expired'],
  [410, 'Gone', 'Expired'],
  [500, 'ServerTimeout', 'Timeout'],
  [422, 'Invalid', 'Invalid'],
  [429, 'TooManyRequests', 'TooManyRequests'],
])('reads %i %s as %s', (code, reason, meaning) => {
  expect(errorFromAnswer(code, status({ code, reason, message: 'm' }), undefined, 'GET /').reason).toBe(
    meaning,
  );
});

it('keeps the fields of an Invalid', () => {
  const causes = [{ field: 'spec.x', message: 'too long', reason: 'FieldValueTooLong' }];
  const error = errorFromAnswer(
    422,
    status({ code: 422, reason: 'Invalid', details: { causes } }),
    undefined,
    'POST /',
  );
  expect(error.causes).toEqual(causes);
});

it('reads Retry-After of header and body, and ignores invalid values', () => {
  expect(errorFromAnswer(429, '', '7', 'GET /').retryAfterSeconds).toBe(7);
  expect(
    errorFromAnswer(429, status({ details: { retryAfterSeconds: 3 } }), undefined, 'GET /').retryAfterSeconds,
  ).toBe(3);
  expect(
    errorFromAnswer(429, '', 'Wed, 21 Oct 2026 07:28:00 GMT', 'GET /').retryAfterSeconds,
  ).toBeUndefined();
  expect(errorFromAnswer(429, '', '-1', 'GET /').retryAfterSeconds).toBeUndefined();
});

it.each([
  ['<html><body>Bad gateway</body></html>', 502, 'ServiceUnavailable'],
  ['<html>login here</html>', 302, 'Unknown'],
  ['{"kind":"Status"', 418, 'Unknown'],
  ['{"kind":"Pod"}', 404, 'NotFound'],
  ['', 500, 'InternalError'],
])('survives %j', (body, code, reason) => {
  const error = errorFromAnswer(code, body, undefined, 'GET /x');
  expect(error.reason).toBe(reason);
  expect(error.message).toContain(`GET /x: HTTP ${code}`);
});

it('survives any status of an ERROR event', () => {
  for (const value of [undefined, null, 'x', 5, [], {}, { details: [] }, { details: { causes: [null] } }]) {
    expect(errorFromStatus(value).reason).toBe('Unknown');
  }
});

it('recognizes a resource version that is too large, and uncertain writes', () => {
  const details = { causes: [{ reason: 'ResourceVersionTooLarge', message: '', field: '' }] };
  const error = errorFromStatus({
    code: 504,
    reason: 'Timeout',
    message: 'Too large resource version: 9',
    details,
  });
  expect(isTooLargeResourceVersion(error)).toBe(true);
  expect(isUncertain(error)).toBe(true);
  expect(isUncertain(errorFromStatus({ code: 409, reason: 'Conflict' }))).toBe(false);
});
