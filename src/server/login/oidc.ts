import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type Configuration,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import { Agent, fetch } from 'undici';

/** An identity provider that the meta cluster's API server trusts as well (OpenID Connect Core 1.0, 3.1). */
export interface OidcOptions {
  issuer: string;
  clientId: string;
  /** If absent, the client is public: PKCE alone protects it (RFC 7636). */
  clientSecret?: string | undefined;
  /** Address of the callback, as the provider has it registered. */
  redirectUrl: string;
  scopes: readonly string[];
  /** PEM of the authority of the provider's certificate; default: those of Node. */
  ca?: string | undefined;
}

/** Secrets of a login, which the browser keeps while the user is at the provider. */
export interface Attempt {
  state: string;
  nonce: string;
  verifier: string;
}

export interface LoginProvider {
  /** Returns the address at which the user logs in. Rejects if the provider does not answer. */
  begin(): Promise<{ url: URL; attempt: Attempt }>;
  /** Returns the ID token for the query with which the user came back. Rejects if the provider gives none. */
  finish(query: URLSearchParams, attempt: Attempt): Promise<string>;
}

const TIMEOUT_SECONDS = 10;

/** Logs users in by the authorization code flow. The provider is asked for its endpoints at the first login. */
export function oidcLogin(options: OidcOptions): LoginProvider {
  const { issuer, clientId, clientSecret, redirectUrl, scopes, ca } = options;
  const dispatcher = ca === undefined ? undefined : new Agent({ connect: { ca } });
  let found: Promise<Configuration> | undefined;
  const configuration = (): Promise<Configuration> => {
    found ??= discovery(new URL(issuer), clientId, clientSecret, undefined, {
      timeout: TIMEOUT_SECONDS,
      ...(dispatcher && {
        [customFetch]: (url, { body, ...init }) =>
          fetch(url, { ...init, body: body instanceof ReadableStream ? null : (body ?? null), dispatcher }),
      }),
    }).catch((error: unknown) => {
      found = undefined;
      throw error;
    });
    return found;
  };
  return {
    async begin() {
      const attempt = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
      const url = buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUrl,
        scope: scopes.join(' '),
        state: attempt.state,
        nonce: attempt.nonce,
        code_challenge: await calculatePKCECodeChallenge(attempt.verifier),
        code_challenge_method: 'S256',
      });
      return { url, attempt };
    },
    async finish(query, { state, nonce, verifier }) {
      const url = new URL(redirectUrl);
      url.search = query.toString();
      const { id_token: token } = await authorizationCodeGrant(await configuration(), url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      if (token === undefined) throw new Error('the provider gives no ID token');
      return token;
    },
  };
}
