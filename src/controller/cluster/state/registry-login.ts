import { z } from 'zod';
import { type Secret, secretText } from '#api/core.ts';
import { Refusal } from '../decide/refusal.ts';

/** The key of a Secret of type kubernetes.io/dockerconfigjson (kubernetes.io, Secrets, Docker config Secrets). */
const KEY = '.dockerconfigjson';
/** Each host stores the text, and its kubelet reads it at each pull. */
const MAX_BYTES = 64 * 1024;

const configSchema = z.object({
  auths: z.record(
    z.string().min(1),
    z.union([
      z.object({ auth: z.base64().min(1) }),
      z.object({ username: z.string().min(1), password: z.string() }),
    ]),
  ),
});

/**
 * Returns the registry credentials of hosts from the Secret with the SSH credentials; empty if it has none. Throws a Refusal
 * whose message contains nothing of the text.
 */
export function loginIn(secret: Secret, name: string): string {
  const text = secretText(secret, KEY) ?? '';
  if (text === '') return '';
  const lack = (what: string) =>
    new Refusal(
      'CredentialsInvalid',
      `key ${KEY} of Secret ${name} (spec.cluster.credentialsSecret) ${what}; write {"auths": {"registry.example.com": {"auth": "<base64 of user:password>"}}}, or remove it`,
    );
  if (Buffer.byteLength(text) > MAX_BYTES) throw lack(`has more than ${MAX_BYTES} bytes`);
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch {
    throw lack('is not JSON');
  }
  if (!configSchema.safeParse(config).success) throw lack('has no "auths" that can be used');
  return text;
}
