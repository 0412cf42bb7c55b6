import { existsSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';

/** Where the way to package registries ends in an authority of its own, a build must know it: as ca.crt of its context. */
export async function giveAuthority(context: string): Promise<void> {
  const authority = process.env['SSL_CERT_FILE'];
  if (authority !== undefined && existsSync(authority)) await cp(authority, join(context, 'ca.crt'));
}
