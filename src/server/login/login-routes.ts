import cookies from '@fastify/cookie';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { AuthorizationResponseError, ResponseBodyError } from 'openid-client';
import { z } from 'zod';
import { sha256 } from '#base/canonical.ts';
import { causeOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import type { LoginProvider } from './oidc.ts';

/** Login to the web page by an identity provider. Programs use tokens. */

/** Only this server, over HTTPS, can set a cookie of this name (RFC 6265bis, 4.1.3.2). */
const COOKIE = '__Host-matryoshka-login';
/** Each login has a cookie of its own: a user may begin in two tabs. */
const cookieOf = (state: string): string => `${COOKIE}-${sha256(state).slice(0, 16)}`;
/** Time for a user to log in at the provider. */
const LOGIN_SECONDS = 600;

/** Secret of a tab of the browser, which accepts a token with this secret alone: no link logs a user in as another one. */
const tabSchema = z.string().regex(/^[A-Za-z0-9_-]{16,64}$/);
const departure = z.object({ tab: tabSchema });
const attemptSchema = departure.extend({ state: z.string(), nonce: z.string(), verifier: z.string() });

interface LoginDeps {
  provider: LoginProvider | undefined;
  log: Logger;
  /** Counts a request without a token. Throws HttpError 429 if the address has sent too many. */
  admit(ip: string): void;
}

const COOKIE_OPTIONS = { path: '/', httpOnly: true, secure: true, sameSite: 'lax' } as const;

/** Sends the browser back to the page. The part after the hash is sent to no server. */
const toPage = (reply: FastifyReply, said: Record<string, string>): FastifyReply =>
  reply.redirect(`/#${new URLSearchParams(said).toString()}`, 303);

function attemptIn(cookie: string | undefined): z.infer<typeof attemptSchema> | undefined {
  try {
    const text = Buffer.from(cookie ?? '', 'base64url').toString();
    return attemptSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Returns what an administrator needs to know; causes of other kinds may hold claims of the user. */
const whyOf = (error: unknown): string =>
  error instanceof AuthorizationResponseError || error instanceof ResponseBodyError
    ? [error.error, error.error_description].filter(Boolean).join(': ')
    : causeOf(error);

/** Adds the routes of the login. Failures are shown by the page, and the log says why. */
export async function serveLogin(app: FastifyInstance, { provider, log, admit }: LoginDeps): Promise<void> {
  app.get('/login/options', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
    return { oidc: provider !== undefined };
  });
  if (!provider) return;
  await app.register(async (scope) => {
    await scope.register(cookies);
    scope.addHook('onRequest', async ({ ip }, reply) => {
      admit(ip);
      reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer');
    });
    scope.get('/login/oidc', async ({ query }, reply) => {
      const wanted = departure.safeParse(query);
      if (!wanted.success) return toPage(reply, { 'login-error': 'failed' });
      try {
        const { url, attempt } = await provider.begin();
        const kept = Buffer.from(JSON.stringify({ ...attempt, ...wanted.data })).toString('base64url');
        return reply
          .setCookie(cookieOf(attempt.state), kept, { ...COOKIE_OPTIONS, maxAge: LOGIN_SECONDS })
          .redirect(url.href, 303);
      } catch (error) {
        log.warn({ error: whyOf(error) }, 'the identity provider does not answer');
        return toPage(reply, { 'login-error': 'unreachable' });
      }
    });
    scope.get('/login/oidc/callback', async ({ cookies: kept, raw }, reply) => {
      const query = new URLSearchParams(raw.url?.split('?')[1] ?? '');
      const cookie = cookieOf(query.get('state') ?? '');
      const attempt = attemptIn(kept[cookie]);
      reply.clearCookie(cookie, COOKIE_OPTIONS);
      if (!attempt) return toPage(reply, { 'login-error': 'expired' });
      try {
        const token = await provider.finish(query, attempt);
        return toPage(reply, { login: attempt.tab, token });
      } catch (error) {
        const isRefused = error instanceof AuthorizationResponseError;
        log.warn({ error: whyOf(error) }, 'a login fails');
        return toPage(reply, { 'login-error': isRefused ? 'refused' : 'failed' });
      }
    });
  });
}
