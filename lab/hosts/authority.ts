import { existsSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';

/** Copies a private CA of the package registries to ca.crt of a build context, if there is one. */
export async function giveAuthority(context: string): Promise<void> {
  const authority = process.env['SSL_CERT_FILE'];
  if (authority !== undefined && existsSync(authority)) await cp(authority, join(context, 'ca.crt'));
}
