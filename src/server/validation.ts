import type { FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { HttpError, malformed, unprocessable } from './errors.ts';
import { isAboutShape, problemsFrom } from './problems.ts';

/** `input` as `schema` has it. Throws HttpError 400 for a wrong shape, 422 for a wrong value, with every problem. */
function checked<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = problemsFrom(parsed.error.issues, input);
  throw parsed.error.issues.some(isAboutShape) ? malformed(problems) : unprocessable(problems);
}

/** Makes Fastify validate with the zod schemas that routes declare. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (input) => {
    try {
      return { value: checked(schema, input) };
    } catch (error) {
      if (error instanceof HttpError) return { error };
      throw error;
    }
  };
