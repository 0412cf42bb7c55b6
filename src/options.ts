import { Option } from '@commander-js/extra-typings';
import { z } from 'zod';
import { UsageError } from '#base/errors.ts';

/** Option that the bare flag or its value enables. */
export const SWITCH = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')], {
  error: 'is neither true nor false',
});

/** Letters of options with a short form, such as `-o`. */
export const SHORT = z.registry<{ letter: string }>();

/** Options that name a file. */
export const FILE = z.registry<object>();

/** Words that may follow a flag: a file, or one of these values. */
const following = new WeakMap<object, 'file' | readonly string[]>();
export const followingOf = (option: object): 'file' | readonly string[] | undefined => following.get(option);

export const kebab = (key: string): string =>
  key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

interface Described {
  flag: string;
  /** Flag with its short form, such as `-n, --namespace`. */
  flags: string;
  description: string;
  /** Default value; undefined if it has none. */
  initial: unknown;
  isSwitch: boolean;
  follows: 'file' | readonly string[] | undefined;
}

function followsOf(field: unknown): Described['follows'] {
  if (!(field instanceof z.ZodType)) return undefined;
  if (FILE.has(field)) return 'file';
  const inner = field instanceof z.ZodDefault ? field.def.innerType : field;
  return inner instanceof z.ZodEnum ? inner.options.map(String) : undefined;
}

const describe = (key: string, field: unknown): Described => {
  const flag = kebab(key);
  const short = field instanceof z.ZodType ? SHORT.get(field) : undefined;
  return {
    flag,
    flags: `${short === undefined ? '' : `-${short.letter}, `}--${flag}`,
    description: field instanceof z.ZodType ? (field.description ?? '') : '',
    initial: field instanceof z.ZodDefault ? field.def.defaultValue : undefined,
    isSwitch: field instanceof z.ZodDefault && field.def.innerType === SWITCH,
    follows: followsOf(field),
  };
};

const withInitial = ({ description, initial }: Described): string =>
  initial === undefined ? description : `${description} (default: ${JSON.stringify(initial)})`;

const variableOf = (flag: string): string => `MATRYOSHKA_${flag.replaceAll('-', '_').toUpperCase()}`;

/** Returns the flags of a program, from its schema. Each has an environment variable. */
export function optionsOf(schema: z.ZodObject): Option[] {
  return Object.entries(schema.shape).map(([key, field]) => {
    const described = describe(key, field);
    const value = described.isSwitch ? '[value]' : '<value>';
    return new Option(`${described.flags} ${value}`, withInitial(described)).env(variableOf(described.flag));
  });
}

/**
 * Returns the flags of a command for users. A switch takes no value; one that is on by default is turned off by `--no-…`.
 * `fromEnvironment`: keys that have an environment variable.
 */
export function flagsOf(schema: z.ZodObject, fromEnvironment: ReadonlySet<string>): Option[] {
  return Object.entries(schema.shape).map(([key, field]) => {
    const described = describe(key, field);
    const { flag, flags, description, initial, isSwitch, follows } = described;
    const option = isSwitch
      ? new Option(initial === true ? `--no-${flag}` : flags, description)
      : new Option(`${flags} <value>`, withInitial(described));
    if (follows) following.set(option, follows);
    return fromEnvironment.has(key) ? option.env(variableOf(flag)) : option;
  });
}

/** Parses flags and environment into one frozen Config. Throws UsageError that names every wrong setting. */
export function configFrom<S extends z.ZodObject>(schema: S, given: unknown): Readonly<z.infer<S>> {
  const parsed = schema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  const values = new Map<PropertyKey, unknown>(Object.entries(given ?? {}));
  const wrong = parsed.error.issues.map(({ path, message }) => {
    const value = values.get(path[0] ?? '');
    const shown = typeof value === 'string' && message.startsWith('is ') ? `${value} ` : '';
    return `--${kebab(path.join('.'))}: ${shown}${message}`;
  });
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
