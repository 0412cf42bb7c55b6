import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '#base/errors.ts';
import { type LoginProvider, oidcLogin } from '#server/login/oidc.ts';
import type { ServerConfig } from '../config.ts';

/** Returns the provider of the settings; undefined without one. Throws UsageError if a setting is missing. */
export function loginFrom(config: ServerConfig): LoginProvider | undefined {
  const {
    oidcIssuer: issuer,
    oidcClientId: clientId,
    oidcRedirectUrl: redirectUrl,
    oidcScopes,
    oidcDir,
  } = config;
  if (issuer === undefined) return undefined;
  if (clientId === undefined || redirectUrl === undefined)
    throw new UsageError(
      `${clientId === undefined ? '--oidc-client-id' : '--oidc-redirect-url'} is required with --oidc-issuer`,
    );
  if (!oidcScopes.includes('openid')) throw new UsageError('--oidc-scopes: openid is missing');
  const contentOf = (name: string): string | undefined => {
    const path = join(oidcDir, name);
    return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
  };
  return oidcLogin({
    issuer,
    clientId,
    redirectUrl,
    scopes: oidcScopes,
    clientSecret: contentOf('client-secret'),
    ca: contentOf('ca.crt'),
  });
}
