import { z } from 'zod';
import type { Check, Limits } from './check.ts';

/** Returns the limits of all checks: the site's values over the defaults. Throws upon a value that no check declares. */
export function limitsOf(checks: readonly Check[], given: unknown): Limits {
  const shape = Object.assign({}, ...checks.map(({ limits }) => limits?.shape ?? {}));
  const parsed = z.strictObject(shape).safeParse(given ?? {});
  if (!parsed.success) throw new Error(`precheck_limits: ${z.prettifyError(parsed.error)}`);
  return z.record(z.string(), z.unknown()).parse(parsed.data);
}
