import { type ApiCause, ApiError, type ApiReason } from './api-error.ts';

const BY_STATUS: Readonly<Record<number, ApiReason>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  502: 'ServiceUnavailable',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** Reasons in the body that say more than the status code. */
const BY_REASON: Readonly<Record<string, ApiReason>> = {
  AlreadyExists: 'AlreadyExists',
  Gone: 'Expired',
  Expired: 'Expired',
  Timeout: 'Timeout',
  ServerTimeout: 'Timeout',
  Invalid: 'Invalid',
  Conflict: 'Conflict',
  NotFound: 'NotFound',
};

/**
 * Returns the error in an HTTP answer. `what` names the call (`GET /api/v1/...`), for answers that do not. Never throws:
 * HTML and garbage become reason Unknown, or the code's reason if it has one. Source: apimachinery api/errors
 * NewGenericServerResponse.
 */
export function errorFromAnswer(status: number, body: string, retryAfter: unknown, what: string): ApiError {
  const parsed = parseStatus(body);
  if (parsed) return errorFromStatus({ code: status, ...parsed }, retryAfter);
  const snippet = body.replace(/\s+/g, ' ').trim().slice(0, 120);
  const reason = status >= 400 ? (BY_STATUS[status] ?? 'Unknown') : 'Unknown';
  const message = `${what}: HTTP ${status} without a Kubernetes status${snippet === '' ? '' : `: ${snippet}`}`;
  return new ApiError(reason, message, { status, retryAfterSeconds: seconds(retryAfter) });
}

/** Returns the error in a metav1.Status, which a watch sends in an ERROR event. */
export function errorFromStatus(status: unknown, retryAfter?: unknown): ApiError {
  const fields = record(status);
  const details = record(fields['details']);
  const code = typeof fields['code'] === 'number' ? fields['code'] : 0;
  const stated = typeof fields['reason'] === 'string' ? fields['reason'] : '';
  const reason = BY_REASON[stated] ?? BY_STATUS[code] ?? 'Unknown';
  const message =
    typeof fields['message'] === 'string' && fields['message'] !== ''
      ? fields['message']
      : `HTTP ${code} ${stated}`;
  const causes = Array.isArray(details['causes']) ? details['causes'].map(causeOf) : [];
  const retryAfterSeconds = seconds(retryAfter) ?? seconds(details['retryAfterSeconds']);
  return new ApiError(reason, message, { status: code, causes, retryAfterSeconds });
}

function causeOf(value: unknown): ApiCause {
  const cause = record(value);
  const text = (name: string) => (typeof cause[name] === 'string' ? cause[name] : '');
  return { field: text('field'), message: text('message'), reason: text('reason') };
}

function parseStatus(body: string): Record<string, unknown> | undefined {
  if (!body.startsWith('{')) return undefined;
  try {
    const value = record(JSON.parse(body));
    return value['kind'] === 'Status' ? value : undefined;
  } catch {
    return undefined;
  }
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** Returns the seconds of a Retry-After: only a number, which the API server sends; dates and garbage are ignored. */
function seconds(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number > 0 ? number : undefined;
}
