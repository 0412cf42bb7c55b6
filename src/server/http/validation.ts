import type { FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { type HttpError, malformed, unprocessable } from './errors.ts';
import { isAboutShape, problemsFrom } from './problems.ts';

/** Returns the answer to issues of a request: 400 for a wrong shape, 422 for a wrong value. */
function refusal(parts: readonly { issues: readonly z.core.$ZodIssue[]; input: unknown }[]): HttpError {
  const problems = parts.flatMap(({ issues, input }) => problemsFrom(issues, input));
  const total = parts.reduce(
    (sum, { issues }) => sum + issues.reduce((all, issue) => all + countOf(issue), 0),
    0,
  );
  const isShape = parts.some(({ issues }) => issues.some(isAboutShape));
  return isShape ? malformed(problems, total) : unprocessable(problems, total);
}

const countOf = (issue: z.core.$ZodIssue): number =>
  issue.code === 'unrecognized_keys' ? issue.keys.length : 1;

type Part<S extends z.ZodType> = readonly [schema: S, input: unknown];

/** Parses three inputs together. Throws HttpError 400 or 422 with every problem of any of them. */
export function checkedTogether<A extends z.ZodType, B extends z.ZodType, C extends z.ZodType>(
  a: Part<A>,
  b: Part<B>,
  c: Part<C>,
): [z.output<A>, z.output<B>, z.output<C>] {
  const [first, second, third] = [a[0].safeParse(a[1]), b[0].safeParse(b[1]), c[0].safeParse(c[1])];
  if (first.success && second.success && third.success) return [first.data, second.data, third.data];
  throw refusal([
    { issues: first.error?.issues ?? [], input: a[1] },
    { issues: second.error?.issues ?? [], input: b[1] },
    { issues: third.error?.issues ?? [], input: c[1] },
  ]);
}

/** Makes Fastify validate with the zod schemas that the routes of Jobs declare. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (input) => {
    const parsed = schema.safeParse(input);
    if (parsed.success) return { value: parsed.data };
    return { error: refusal([{ issues: parsed.error.issues, input }]) };
  };
