import { z } from 'zod';
import { type Clock, sleep } from '#base/clock.ts';
import type { Answer, Connection } from './connection.ts';

/** Certificates of users, which the cluster's own signer issues (kubernetes.io, Certificates and CertificateSigningRequests). */

const PATH = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const SIGNER = 'kubernetes.io/kube-apiserver-client';
const MAX_BYTES = 256 * 1024;
const POLL_MS = 250;
/** Limit of the signature, and of the removal of its request. */
const ISSUE_MS = 15_000;
const CLEAN_MS = 3_000;

const requestSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  status: z
    .looseObject({
      certificate: z.base64().optional(),
      conditions: z.array(z.looseObject({ type: z.string(), message: z.string().optional() })).optional(),
    })
    .optional(),
});
type SigningRequest = z.infer<typeof requestSchema>;

/** Returns the object in an answer. Throws with the status and the message of the API server. */
function objectIn(what: string, { status, body }: Answer): SigningRequest {
  const json: unknown = body.startsWith('{') ? JSON.parse(body) : {};
  if (status >= 200 && status < 300) return requestSchema.parse(json);
  const { message = '' } = z.object({ message: z.string().optional() }).parse(json);
  throw new Error(`${what}: HTTP ${status} ${message}`.trim());
}

/**
 * Has the cluster sign a request (PEM) for so many seconds, and returns the certificate (PEM). Removes the
 * CertificateSigningRequest. Rejects with the API server's reason, or if no certificate comes within 15 s.
 */
export async function issueUserCertificate(
  connection: Connection,
  { request, expirationSeconds }: { request: string; expirationSeconds: number },
  { timeout, clock }: { timeout: (ms: number) => AbortSignal; clock: Clock },
): Promise<string> {
  const signal = timeout(ISSUE_MS);
  const options = { signal, maxBytes: MAX_BYTES };
  const body = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { generateName: 'matryoshka-user-' },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: SIGNER,
      expirationSeconds,
      usages: ['client auth'],
    },
  };
  const created = objectIn(
    'the request cannot be created',
    await connection.send(PATH, { method: 'POST', body }, options),
  );
  const path = `${PATH}/${created.metadata.name}`;
  try {
    const approved = { type: 'Approved', status: 'True', reason: 'Matryoshka', message: 'requested by REST' };
    const approval = { ...created, status: { conditions: [approved] } };
    objectIn(
      'the request cannot be approved',
      await connection.send(`${path}/approval`, { method: 'PUT', body: approval }, options),
    );
    for (;;) {
      const { status } = objectIn('the request cannot be read', await connection.get(path, options));
      if (status?.certificate !== undefined)
        return Buffer.from(status.certificate, 'base64').toString('utf8');
      const failed = status?.conditions?.find(({ type }) => type === 'Failed' || type === 'Denied');
      if (failed) throw new Error(`the cluster does not sign the request: ${failed.message ?? failed.type}`);
      await sleep(POLL_MS, signal, clock);
    }
  } finally {
    // The signal of the work may have aborted. A request that stays is removed by Kubernetes within a day.
    const last = { signal: timeout(CLEAN_MS), maxBytes: MAX_BYTES };
    await connection.send(path, { method: 'DELETE' }, last).catch(() => undefined);
  }
}
