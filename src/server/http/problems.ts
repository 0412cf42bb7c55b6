import type { z } from 'zod';
import { MAX_PROBLEMS, type Problem } from '#base/errors.ts';

/** Matches names of confidential fields; their values are never repeated. */
const SECRET = /key|password|token|kubeconfig/i;
const LONGEST_VALUE = 200;
/** A field name that the client invents may be as long as the body. */
const LONGEST_FIELD = 300;

type Path = readonly PropertyKey[];

/** Converts `['masterList', 0, 'ip']` to `masterList[0].ip`. */
const fieldOf = (path: Path): string =>
  path
    .reduce<string>(
      (text, part) =>
        typeof part === 'number' ? `${text}[${part}]` : `${text}${text === '' ? '' : '.'}${String(part)}`,
      '',
    )
    .slice(0, LONGEST_FIELD);

function valueAt(input: unknown, path: Path): unknown {
  let value = input;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = Reflect.get(value, part);
  }
  return value;
}

/** Returns the wrong value, if it is short and not confidential. */
function shown(input: unknown, path: Path): { value?: unknown } {
  if (path.some((part) => SECRET.test(String(part)))) return {};
  const value = valueAt(input, path);
  if (typeof value === 'number' || typeof value === 'boolean') return { value };
  return typeof value === 'string' && value.length <= LONGEST_VALUE ? { value } : {};
}

/** Whether an issue is about the shape of the input (400) rather than its meaning (422). */
export const isAboutShape = ({ code }: z.core.$ZodIssue): boolean =>
  code === 'invalid_type' || code === 'unrecognized_keys' || code === 'invalid_union';

/** Returns the first issues that zod found, at most 50, as problems with the client's path. */
export function problemsFrom(issues: readonly z.core.$ZodIssue[], input: unknown): Problem[] {
  return issues.slice(0, MAX_PROBLEMS).flatMap((issue): Problem[] => {
    const { path, message } = issue;
    const field = fieldOf(path);
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.slice(0, MAX_PROBLEMS).map((key) => ({
        field: fieldOf([...path, key]),
        reason: 'is not a field of this request',
      }));
    }
    if (issue.code !== 'invalid_type') return [{ field, ...shown(input, path), reason: message }];
    const missing = path.length > 0 && valueAt(input, path) === undefined;
    const reason = missing ? 'is required' : `must be of type ${issue.expected}`;
    return [{ field: field === '' ? 'body' : field, ...shown(input, path), reason }];
  });
}

/** Converts a field of the object to its name in the REST body. */
export function asSpelledByRest(problem: Problem): Problem {
  const field = problem.field.replace(/^spec\.cluster\./, '').replace(/^timeout_mins/, 'timeoutMins');
  return { ...problem, field };
}
