import { Option } from '@commander-js/extra-typings';
import { z } from 'zod';
import { UsageError } from '#base/errors.ts';

/** On by the bare flag, or by its value. */
export const SWITCH = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')], {
  error: 'is neither true nor false',
});

/** Letters of options that have one, such as `-o`. */
export const SHORT = z.registry<{ letter: string }>();

const kebab = (key: string): string => key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The flags of a program, from its schema. */
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

/** Flags and environment as one frozen Config. Throws UsageError that names every setting that is wrong. */
export function configFrom<S extends z.ZodObject>(schema: S, given: unknown): Readonly<z.infer<S>> {
  const parsed = schema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  const wrong = parsed.error.issues.map(({ path, message }) => `--${kebab(path.join('.'))}: ${message}`);
  throw new UsageError(wrong.join('\n'));
}

export const PORT_ERROR = 'is not a port; write a number up to 65535';
/** A port of TCP; 0: any that is free. */
export const PORT = z.coerce
  .number({ error: PORT_ERROR })
  .int(PORT_ERROR)
  .min(0, PORT_ERROR)
  .max(65535, PORT_ERROR);

/** Comma-separated. */
export const LIST = z.string().transform((text) => text.split(',').flatMap((part) => part.trim() || []));
