import { z } from 'zod';
import { MAX_PROBLEMS, type Problem, sentenceOf } from '#base/errors.ts';
import type { WebhookDeps } from './deps.ts';

const userSchema = z.object({
  username: z.string().default(''),
  uid: z.string().optional(),
  groups: z.array(z.string()).default([]),
  extra: z.record(z.string(), z.array(z.string())).default({}),
});

/** AdmissionReview (admission.k8s.io/v1), with the fields that the rules use. */
export const reviewSchema = z.object({
  apiVersion: z.literal('admission.k8s.io/v1'),
  kind: z.literal('AdmissionReview'),
  request: z.object({
    uid: z.string(),
    kind: z.object({ group: z.string().default(''), kind: z.string() }),
    operation: z.enum(['CREATE', 'UPDATE', 'DELETE', 'CONNECT']),
    namespace: z.string().default(''),
    name: z.string().default(''),
    userInfo: userSchema,
    object: z.unknown().optional(),
    oldObject: z.unknown().optional(),
  }),
});
export type AdmissionRequest = z.infer<typeof reviewSchema>['request'];

/** The answer to one request: allowed, or the reasons against it. */
export type Judgement =
  | { allowed: true }
  | { allowed: false; status: 422 | 403; message: string; problems: readonly Problem[] };

/** Judges requests about one kind; changes nothing. */
export type Admission = (request: AdmissionRequest, deps: WebhookDeps) => Promise<Judgement>;

/** The operations of RFC 6902 that are used. */
export type JsonPatch = readonly (
  | { op: 'add'; path: string; value: unknown }
  | { op: 'remove'; path: string }
)[];

/** Completes requests about one kind; empty if the object stays as it is. */
export type Mutation = (request: AdmissionRequest, deps: Pick<WebhookDeps, 'serverUser'>) => JsonPatch;

export const refused = (problems: readonly Problem[]): Judgement => ({
  allowed: false,
  status: 422,
  message: sentenceOf(problems, ({ field, reason }) => `${field}: ${reason}`),
  problems: problems.slice(0, MAX_PROBLEMS),
});

const REASONS = { 422: 'Invalid', 403: 'Forbidden' } as const;

const reviewOf = (uid: string, response: object) => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  response: { uid, ...response },
});

/** Returns the patch as an AdmissionReview. */
export function patchFor({ uid }: AdmissionRequest, patch: JsonPatch): unknown {
  if (patch.length === 0) return reviewOf(uid, { allowed: true });
  const text = Buffer.from(JSON.stringify(patch)).toString('base64');
  return reviewOf(uid, { allowed: true, patchType: 'JSONPatch', patch: text });
}

/** Returns the judgement as an AdmissionReview; `metav1.Status` has a cause for each field. */
export function answerTo(request: AdmissionRequest, judgement: Judgement): unknown {
  const { uid, name, kind } = request;
  if (judgement.allowed) return reviewOf(uid, { allowed: true });
  const { status: code, message, problems } = judgement;
  const causes = problems.map(({ field, reason }) => ({
    reason: 'FieldValueInvalid',
    field,
    message: reason,
  }));
  return reviewOf(uid, {
    allowed: false,
    status: { status: 'Failure', code, reason: REASONS[code], message, details: { name, ...kind, causes } },
  });
}
