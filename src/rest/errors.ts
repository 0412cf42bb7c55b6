/** Catalogue of the errors of the REST API. Names and statuses never change; clients may rely on them. */

export interface ErrorEntry {
  status: number;
  /** Meaning, in a sentence without its end. */
  title: string;
  /** Advice for the caller. */
  advice: string;
}

export const ERRORS = {
  malformed: {
    status: 400,
    title: 'The request has the wrong shape',
    advice: 'Correct the fields that errors lists.',
  },
  unauthenticated: {
    status: 401,
    title: 'There is no valid token',
    advice: 'Get a new token, for example with kubectl create token.',
  },
  forbidden: {
    status: 403,
    title: 'The caller lacks a right',
    advice: 'Ask an administrator of the meta cluster for the right that the message names.',
  },
  'not-found': {
    status: 404,
    title: 'There is no such route, cluster or operation',
    advice: 'Check name, namespace and region.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'The path has no such method',
    advice: 'Use a method of the header Allow.',
  },
  conflict: {
    status: 409,
    title: 'The request does not fit the state of the cluster',
    advice: 'Read the cluster, then try again.',
  },
  'cluster-exists': {
    status: 409,
    title: 'A cluster of that name exists',
    advice: 'Choose another name, or send "retry": true to repeat a creation that failed.',
  },
  'cluster-busy': {
    status: 409,
    title: 'An operation of the cluster runs or waits',
    advice: 'Wait until it ends, or cancel it.',
  },
  'plan-changed': {
    status: 409,
    title: 'The plan is not the one that the request approves',
    advice: 'Read the difference, make a new plan with dryRun=All, and approve its hash.',
  },
  'nothing-to-retry': {
    status: 409,
    title: 'The last operation has not failed',
    advice: 'Leave "retry" out.',
  },
  'nothing-to-cancel': {
    status: 409,
    title: 'No operation runs that could be cancelled',
    advice: 'Read status.operation. A deletion cannot be cancelled.',
  },
  'no-plan': {
    status: 409,
    title: 'No plan of a dry run waits for an approval',
    advice: 'Make one with the annotation ecs.yun.com/dry-run, or with dryRun=All.',
  },
  'no-kubeconfig': {
    status: 409,
    title: 'The cluster has no usable kubeconfig yet',
    advice: 'Wait until it is created.',
  },
  'secret-taken': {
    status: 409,
    title: 'A Secret of the name that the operator needs belongs to something else',
    advice: 'Delete it, or name it in credentialsSecret.',
  },
  'page-expired': {
    status: 410,
    title: 'The next page of a list is no longer available',
    advice: 'Begin again without "continue".',
  },
  'version-changed': {
    status: 412,
    title: 'The cluster is not of the version in If-Match',
    advice: 'Read it, then try again.',
  },
  'too-large': {
    status: 413,
    title: 'The request is too large',
    advice: 'Ask for less at once.',
  },
  invalid: {
    status: 422,
    title: 'Values are invalid, or the operation is refused',
    advice: 'Correct the fields that errors lists.',
  },
  'too-many-requests': {
    status: 429,
    title: 'The caller, or all callers, send too much at once',
    advice: 'Try again after the seconds in Retry-After.',
  },
  'headers-too-large': {
    status: 431,
    title: 'The headers and the path are too long',
    advice: 'Send shorter ones.',
  },
  internal: {
    status: 500,
    title: 'The server has failed',
    advice: 'Report it with the id in X-Request-Id, which is in the log of the server.',
  },
  unavailable: {
    status: 503,
    title: 'The Kubernetes API or the cluster does not answer, or the operator lacks a right',
    advice: 'Try again after the seconds in Retry-After. matryoshka doctor finds the cause.',
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorKind = keyof typeof ERRORS;

const isKind = (text: string): text is ErrorKind => Object.hasOwn(ERRORS, text);

/** Returns the general error of a status. */
export function kindOf(status: number): ErrorKind {
  const found = Object.keys(ERRORS).find((kind) => isKind(kind) && ERRORS[kind].status === status);
  return found !== undefined && isKind(found) ? found : 'internal';
}

/** Type of an error body by RFC 9457. */
export const PROBLEM_JSON = 'application/problem+json';

/** Page of the server that explains all errors. */
export const ERRORS_PATH = '/docs/errors';
