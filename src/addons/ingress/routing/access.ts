import { type Secret, secretText } from '#api/core.ts';
import type { IngressBackend } from '#api/networking.ts';
import { sha256 } from '#base/canonical.ts';
import { type Backend, type BackendRules, backendId, backendOf, type Endpoints } from './backends.ts';
import { type IngressSettings, SETTINGS_PREFIX } from './settings.ts';
import { slim } from './slim.ts';

/** Selects Secrets with one user name and one password. Source: kubernetes.io, Secrets, basic authentication. */
export const BASIC_AUTH_SECRETS = { fieldSelector: 'type=kubernetes.io/basic-auth' } as const;

/** Key of the hash in the cached Secret. */
const HASH = 'sha256';

/**
 * Returns the SHA-256, in capital hexadecimal digits, of the Authorization field that a client with these credentials sends.
 * Returns undefined if the Secret has no user name or no password. Source: RFC 7617.
 */
export function credentialsHash(secret: Secret): string | undefined {
  const [user, password] = [secretText(secret, 'username'), secretText(secret, 'password')];
  if (!user || !password || user.includes(':')) return undefined;
  const field = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  return sha256(field).toUpperCase();
}

/** Returns a Secret for the cache that holds the hash of the credentials and nothing else. */
export function slimCredentials(secret: Secret): Secret {
  const hash = credentialsHash(secret);
  return {
    metadata: slim(secret.metadata),
    data: hash === undefined ? {} : { [HASH]: Buffer.from(hash).toString('base64') },
  };
}

/** Returns the hash that `slimCredentials` kept. */
export const hashOf = (secret: Secret | undefined): string | undefined => secretText(secret, HASH);

export interface AccessWorld extends Endpoints {
  /** Returns the hash of the credentials in a Secret of type kubernetes.io/basic-auth. */
  credentials(namespace: string, secret: string): string | undefined;
}

export interface Access {
  rules: Pick<BackendRules, 'basic' | 'auth'>;
  /** Authenticating Service, by the id of its backend. */
  backend?: [id: string, backend: Backend];
  problems: string[];
}

/** Returns the access rules for the backends of an Ingress, or a problem for each annotation that cannot be used. */
export function accessOf(settings: IngressSettings, namespace: string, world: AccessWorld): Access {
  const access: Access = { rules: {}, problems: [] };
  const secret = settings['basic-auth-secret'];
  if (secret !== undefined) {
    const basic = world.credentials(namespace, secret);
    if (basic !== undefined) access.rules.basic = basic;
    else
      access.problems.push(
        `annotation ${SETTINGS_PREFIX}basic-auth-secret: there is no Secret "${secret}" of type kubernetes.io/basic-auth with username and password`,
      );
  }
  const asked = settings['auth-request'];
  if (asked === undefined && settings['auth-response-headers'] !== undefined)
    access.problems.push(`annotation ${SETTINGS_PREFIX}auth-response-headers needs auth-request beside it`);
  if (asked !== undefined) {
    const port = /^\d+$/.test(asked.port) ? { number: Number(asked.port) } : { name: asked.port };
    const service: IngressBackend = { service: { name: asked.service, port } };
    const [id, found] = [backendId(namespace, service), backendOf(namespace, service, world)];
    if ('reason' in found || id === undefined)
      access.problems.push(
        `annotation ${SETTINGS_PREFIX}auth-request: ${'reason' in found ? found.message : 'no Service is named'}`,
      );
    else {
      access.backend = [id, found];
      access.rules.auth = { backend: id, host: `${asked.service}.${namespace}`, path: asked.path };
    }
  }
  return access;
}
