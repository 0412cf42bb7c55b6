/** Meaning of a failed call for its caller. The first dozen are metav1.StatusReason; this client adds the last three. */
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
  /** No answer in time, by the server's limit or ours: a write may have happened. */
  | 'Timeout'
  /** No answer at all: refused connection, reset, TLS. A write may have happened. */
  | 'Connection'
  /** Answer that is not from Kubernetes: HTML, garbage, an unexpected code. */
  | 'Unknown';

/** Fault of one field (metav1.StatusCause). */
export interface ApiCause {
  field: string;
  message: string;
  reason: string;
}

export interface ApiErrorDetails {
  /** HTTP status; 0 if there was no answer. */
  status: number;
  causes?: readonly ApiCause[];
  /** Pause that the server asked for (Retry-After header, or details.retryAfterSeconds). */
  retryAfterSeconds?: number | undefined;
  cause?: unknown;
}

/** Failed call to the API server, typed by what the caller should do about it. */
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
 * Whether a failed write may have been carried out: read the object again by name before acting on it (reliability row 7).
 */
export function isUncertain(error: unknown): error is ApiError {
  return isApiError(error, 'Timeout', 'Connection', 'InternalError', 'ServiceUnavailable', 'Unknown');
}

/** Whether the server does not know the requested version yet (client-go isTooLargeResourceVersionError). */
export function isTooLargeResourceVersion(error: unknown): error is ApiError {
  return (
    isApiError(error) &&
    (error.causes.some((cause) => cause.reason === 'ResourceVersionTooLarge') ||
      /too large resource version/i.test(error.message))
  );
}
