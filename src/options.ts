import { Option } from '@commander-js/extra-typings';
import { z } from 'zod';
import { UsageError } from '#base/errors.ts';

/** Option that the bare flag or its value enables. */
export const SWITCH = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')], {
  error: 'is neither true nor false',
});

/** Letters of options with a short form, such as `-o`. */
export const SHORT = z.registry<{ letter: string }>();

const kebab = (key: string): string => key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Returns the flags of a program, from its schema. */
export function optionsOf(schema: z.ZodObject): Option[] {
  return Object.entries(schema.shape).map(([key, field]) => {
    const flag = kebab(key);
    const description = field instanceof z.ZodType ? (field.description ?? '') : '';
    const initial =
      field instanceof z.ZodDefault ? ` (default: ${JSON.stringify(field.def.defaultValue)})` : '';
    const isSwitch = field instanceof z.ZodDefault && field.def.innerType === SWITCH;
    const short = field instanceof z.ZodType ? SHORT.get(field) : undefined;
    const flags = `${short === undefined ? '' : `-${short.letter}, `}--${flag}`;
    const option = new Option(`${flags} ${isSwitch ? '[value]' : '<value>'}`, description + initial);
    return option.env(`MATRYOSHKA_${flag.replaceAll('-', '_').toUpperCase()}`);
  });
}

/** Parses flags and environment into one frozen Config. Throws UsageError that names every wrong setting. */
export function configFrom<S extends z.ZodObject>(schema: S, given: unknown): Readonly<z.infer<S>> {
  const parsed = schema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  const wrong = parsed.error.issues.map(({ path, message }) => `--${kebab(path.join('.'))}: ${message}`);
  throw new UsageError(wrong.join('\n'));
}

export const PORT_ERROR = 'is not a port; write a number up to 65535';
/** TCP port; 0 selects a free one. */
export const PORT = z.coerce
  .number({ error: PORT_ERROR })
  .int(PORT_ERROR)
  .min(0, PORT_ERROR)
  .max(65535, PORT_ERROR);

/** Comma-separated list. */
export const LIST = z.string().transform((text) => text.split(',').flatMap((part) => part.trim() || []));
