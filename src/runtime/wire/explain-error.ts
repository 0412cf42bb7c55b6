import { ApiError } from './api-error.ts';
import type { Endpoint } from './endpoint.ts';

/**
 * Returns a call's error with the part of the configuration that it contradicts, so that "certificate signature failure"
 * names one of the four possible files. Other errors stay unchanged.
 */
export function explainError(error: unknown, { parts }: Pick<Endpoint, 'parts'>): unknown {
  if (!(error instanceof ApiError) || !parts) return error;
  const part = partOf(error, parts);
  if (part === undefined || error.message.endsWith(part)) return error;
  const { reason, message, status, causes, retryAfterSeconds } = error;
  return new ApiError(reason, `${message}; ${part}`, {
    status,
    causes,
    retryAfterSeconds,
    cause: error.cause,
  });
}

function partOf(error: ApiError, parts: NonNullable<Endpoint['parts']>): string | undefined {
  if (error.reason === 'Unauthorized') return `refused are the credentials of ${parts.credentials}`;
  if (error.reason !== 'Connection') return undefined;
  const codes = codesOf(error.cause);
  if (codes.some((code) => UNTRUSTED.has(code))) return `it was checked with ${parts.authority}`;
  return codes.some((code) => ABSENT.has(code)) ? `the address is of ${parts.server}` : undefined;
}

/** OpenSSL's codes for a certificate that our CA has not signed. */
const UNTRUSTED = new Set([
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
/** Codes for an address without a server, or an unknown name. */
const ABSENT = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

function codesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const own = 'code' in error && typeof error.code === 'string' ? [error.code] : [];
  const inner = error instanceof AggregateError ? error.errors.flatMap(codesOf) : [];
  return [...own, ...inner, ...codesOf(error.cause)];
}
