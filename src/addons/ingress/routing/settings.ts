import { z } from 'zod';
import { GROUP } from '#api/names.ts';
import type { Ingress } from '#api/networking.ts';
import { isNetwork } from './networks.ts';

/** Prefix of annotations that change how the requests of an Ingress are served. */
export const SETTINGS_PREFIX = `ingress.${GROUP}/`;

const SECONDS_A_YEAR = 31_536_000;
const count = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'write a whole number')
    .transform(Number)
    .pipe(z.number().min(least).max(most));

/** `service:port/path`: a Service of the Ingress's namespace, a port by number or name, a path. */
const AUTH_REQUEST = /^([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?):([a-z0-9-]{1,15})(\/[A-Za-z0-9._~/-]{0,1023})$/;
/** Excludes fields of the connection, of the body and of the route. */
const HEADER =
  /^(x-(?!forwarded-|request-id$|real-ip$)[a-z0-9-]{1,60}|remote-[a-z0-9-]{1,60}|authorization)$/;
const MAX_HEADERS = 16;

/** Settings by annotation, without the prefix. */
const settingsSchema = z
  .strictObject({
    /** Redirects requests over HTTP with 308. */
    'redirect-to-https': z.enum(['true', 'false']).transform((value) => value === 'true'),
    'hsts-seconds': count(0, 10 * SECONDS_A_YEAR),
    /** Networks whose clients are allowed; others get 403. */
    'allow-from': z
      .string()
      .max(4_096)
      .transform((value) => value.split(',').map((one) => one.trim()))
      .refine(
        (networks) => networks.every(isNetwork),
        'write networks such as 10.0.0.0/8, with commas between them',
      ),
    /** Longest time between two bytes of an answer. */
    'timeout-seconds': count(1, 86_400),
    /** Longest body; a longer one gets 413, a request without a length 411. */
    'max-body-bytes': count(1, Number.MAX_SAFE_INTEGER),
    /** Limit for one client at one replica; more requests get 429. */
    'requests-per-second': count(1, 1_000_000),
    affinity: z.enum(['cookie'], 'only "cookie" is offered'),
    /** Secret with the required credentials; other requests get 401. */
    'basic-auth-secret': z
      .string()
      .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'write the name of a Secret'),
    /** Service that decides about each request. */
    'auth-request': z
      .string()
      .regex(AUTH_REQUEST, 'write SERVICE:PORT/PATH, such as oauth2-proxy:4180/oauth2/auth')
      .transform((value) => {
        const [, service = '', port = '', path = ''] = AUTH_REQUEST.exec(value) ?? [];
        return { service, port, path };
      }),
    /** Fields of its answer that the backend gets; the client's fields of these names are removed. */
    'auth-response-headers': z
      .string()
      .transform((value) => value.split(',').map((one) => one.trim().toLowerCase()))
      .refine(
        (names) => names.length <= MAX_HEADERS && names.every((name) => HEADER.test(name)),
        `write up to ${MAX_HEADERS} names such as X-Auth-User or Authorization, with commas between them`,
      ),
    /** Replaces the path of the rule. */
    'rewrite-to': z
      .string()
      .regex(/^\/[A-Za-z0-9._~/-]{0,1023}$/, 'write a path of letters, digits and ._~/-'),
  })
  .partial();

export type IngressSettings = z.output<typeof settingsSchema>;

/** Returns the settings of an Ingress, or a problem for each annotation that cannot be used. */
export function settingsOf({ metadata }: Ingress): { settings: IngressSettings; problems: string[] } {
  const own = Object.entries(metadata.annotations ?? {}).flatMap(([name, value]) =>
    name.startsWith(SETTINGS_PREFIX) ? [[name.slice(SETTINGS_PREFIX.length), value] as const] : [],
  );
  const parsed = settingsSchema.safeParse(Object.fromEntries(own));
  if (parsed.success) return { settings: parsed.data, problems: [] };
  const problems = parsed.error.issues.flatMap((issue): string[] => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map(
        (key) =>
          `annotation ${SETTINGS_PREFIX}${key} does not exist; there are ${Object.keys(settingsSchema.shape).join(', ')}`,
      );
    const [name = ''] = issue.path;
    const value = own.find(([key]) => key === name)?.[1] ?? '';
    return [`annotation ${SETTINGS_PREFIX}${String(name)} is "${value.slice(0, 64)}": ${issue.message}`];
  });
  return { settings: {}, problems };
}
