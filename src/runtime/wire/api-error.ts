/** What a failed call means to its caller. The first dozen are metav1.StatusReason; the last three are ours. */
export type ApiReason =
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Expired'
  | 'Invalid'
  | 'RequestEntityTooLarge'
  | 'TooManyRequests'
  | 'InternalError'
  | 'ServiceUnavailable'
  /** No answer in time, from the server's side or ours: a write may have happened. */
  | 'Timeout'
  /** No answer at all: refused, reset, TLS. A write may have happened. */
  | 'Connection'
  /** An answer that is no Kubernetes answer: HTML, garbage, an unexpected code. */
  | 'Unknown';

/** One thing wrong with one field (metav1.StatusCause). */
export interface ApiCause {
  field: string;
  message: string;
  reason: string;
}

export interface ApiErrorDetails {
  /** HTTP status; 0 where there was no answer. */
  status: number;
  causes?: readonly ApiCause[];
  /** As the server asked (Retry-After header, or details.retryAfterSeconds). */
  retryAfterSeconds?: number | undefined;
  cause?: unknown;
}

/** A call to the API server that failed, typed by what the caller should do about it. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly reason: ApiReason;
  readonly status: number;
  readonly causes: readonly ApiCause[];
  readonly retryAfterSeconds: number | undefined;

  constructor(reason: ApiReason, message: string, details: ApiErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.reason = reason;
    this.status = details.status;
    this.causes = details.causes ?? [];
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

export function isApiError(error: unknown, ...reasons: ApiReason[]): error is ApiError {
  return error instanceof ApiError && (reasons.length === 0 || reasons.includes(error.reason));
}

export const isNotFound = (error: unknown): error is ApiError => isApiError(error, 'NotFound');
export const isConflict = (error: unknown): error is ApiError => isApiError(error, 'Conflict');
export const isAlreadyExists = (error: unknown): error is ApiError => isApiError(error, 'AlreadyExists');
export const isExpired = (error: unknown): error is ApiError => isApiError(error, 'Expired');
export const isInvalid = (error: unknown): error is ApiError => isApiError(error, 'Invalid');
export const isForbidden = (error: unknown): error is ApiError => isApiError(error, 'Forbidden');

/**
 * Whether a write that ended so may have been made all the same: read again by name before acting on it
 * (reliability row 7).
 */
export function isUncertain(error: unknown): error is ApiError {
  return isApiError(error, 'Timeout', 'Connection', 'InternalError', 'ServiceUnavailable', 'Unknown');
}

/** The server does not know the version yet that was asked for (client-go isTooLargeResourceVersionError). */
export function isTooLargeResourceVersion(error: unknown): error is ApiError {
  return (
    isApiError(error) &&
    (error.causes.some((cause) => cause.reason === 'ResourceVersionTooLarge') ||
      /too large resource version/i.test(error.message))
  );
}
