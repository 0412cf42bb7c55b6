import type { status } from '@grpc/grpc-js';
import { ReviewFailed } from '#access/reviews.ts';
import { messageOf } from '#base/errors.ts';
import { isApiError } from '#runtime/wire/api-error.ts';

export type Code = keyof typeof status;

/** Error of a call: a gRPC status code, and a message with the remediation. */
export class CallError extends Error {
  override name = 'CallError';
  readonly code: Code;
  constructor(code: Code, message: string) {
    super(message);
    this.code = code;
  }
}

/** Translates an error of the API server for the caller. Source: grpc.io, status codes. */
export function callErrorOf(error: unknown): CallError {
  if (error instanceof CallError) return error;
  if (error instanceof ReviewFailed) return new CallError('UNAVAILABLE', error.message);
  if (!isApiError(error)) return new CallError('INTERNAL', 'this is a mistake of ours; it is in the log');
  const { reason, message } = error;
  switch (reason) {
    case 'NotFound':
      return new CallError('NOT_FOUND', message);
    case 'AlreadyExists':
      return new CallError('ALREADY_EXISTS', message);
    case 'Invalid':
    case 'BadRequest':
      return new CallError('INVALID_ARGUMENT', message);
    case 'Conflict':
      return new CallError('ABORTED', message);
    case 'Forbidden':
      // The caller's rights were checked before, so the refusal does not concern the caller.
      return new CallError(
        /exceeded quota/.test(message) ? 'RESOURCE_EXHAUSTED' : 'FAILED_PRECONDITION',
        message,
      );
    default:
      return new CallError('UNAVAILABLE', `the Kubernetes API gives no answer: ${messageOf(error)}`);
  }
}
