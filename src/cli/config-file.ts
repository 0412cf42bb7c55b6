import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { messageOf } from '#base/errors.ts';
import { wrongUse } from './failure.ts';

/** The file that `matryoshka login` writes. */
const configFileSchema = z.strictObject({
  /** `https://192.0.2.10:32443` */
  server: z.string().optional(),
  /** PEM of the authority that has signed the server's certificate. */
  ca: z.string().optional(),
  token: z.string().optional(),
  namespace: z.string().optional(),
});
export type ConfigFile = z.infer<typeof configFileSchema>;

/**
 * Reads the file; one that does not exist is empty, unless `flag` names it. Throws CommandFailure that names the file and the
 * wrong field.
 */
export function readConfigFile(path: string, flag?: '--config'): ConfigFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const isAbsent = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (isAbsent && flag === undefined) return {};
    throw wrongUse(`${flag === undefined ? '' : `${flag}: `}${path} cannot be read: ${messageOf(error)}`);
  }
  try {
    return configFileSchema.parse(parse(text) ?? {});
  } catch (error) {
    const why =
      error instanceof z.ZodError
        ? error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; ')
        : messageOf(error).split('\n')[0];
    throw wrongUse(`${path}: ${why}; correct it, or write it anew with "matryoshka login"`);
  }
}

/** Replaces the file. Only its owner can read it, since it has the token. */
export function writeConfigFile(path: string, content: ConfigFile): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // A file that exists would keep its mode, and a link would lead elsewhere.
  const next = `${path}.${randomUUID()}`;
  writeFileSync(next, stringify(content), { mode: 0o600, flag: 'wx' });
  renameSync(next, path);
}
