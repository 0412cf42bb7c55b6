import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createAuthority, createServerCertificate } from '#certificates/certificates.ts';
import { hostFolder, runRoleScript } from './role-script.fixture.ts';

const PKI = '/etc/kubernetes/pki';
const AUTHORITIES = ['ca', 'front-proxy-ca', 'etcd/ca'];

let root = '';
beforeEach(async () => {
  root = await hostFolder();
  for (const name of AUTHORITIES) await authority(name);
});
afterEach(() => rm(root, { recursive: true, force: true }));

const DAY_MS = 86_400_000;
const issuer = await createAuthority();

/** Writes a certificate with its key that ends after these days, which may be in the past. */
async function authority(name: string, days = 10): Promise<void> {
  const file = join(root, PKI, name);
  await mkdir(dirname(file), { recursive: true });
  const validity = {
    notBefore: new Date(Date.now() - 2 * DAY_MS),
    notAfter: new Date(Date.now() + days * DAY_MS),
  };
  const { cert, key } = await createServerCertificate(issuer, ['x'], [], validity);
  await writeFile(`${file}.crt`, cert);
  await writeFile(`${file}.key`, key);
}
const check = () => runRoleScript(root, { role: 'renew', script: 'check.sh', env: {} });

it('accepts a control plane with all authorities and their keys', async () => {
  expect(await check()).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
});

it.each(AUTHORITIES.flatMap((name) => [`${name}.crt`, `${name}.key`]))(
  'refuses a control plane without %s',
  async (file) => {
    await writeFile(join(root, PKI, file), '');
    const { exitCode, stderr } = await check();
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`${PKI}/${file} is missing, so this control plane cannot issue certificates`);
  },
);

it.each(AUTHORITIES)('refuses an authority that has expired: %s', async (name) => {
  await authority(name, -1);
  const { exitCode, stderr } = await check();
  expect(exitCode).toBe(1);
  expect(stderr).toContain(`the authority ${PKI}/${name}.crt has expired`);
});
