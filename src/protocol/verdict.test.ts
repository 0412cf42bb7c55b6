import { expect, it } from 'vitest';
import { reportFrom } from './report.ts';
import { verdictOf } from './verdict.ts';

const hosts = (count: number, ok: boolean) =>
  Array.from({ length: count }, (_, index) => ({
    ip: `10.0.${index >> 8}.${index & 255}`,
    ok,
    did: [],
    message: 'why '.repeat(80),
  }));

it('names every host, with shorter messages for more hosts', () => {
  for (const count of [1, 20, 50]) {
    const text = verdictOf({ success: true, message: 'done', hosts: hosts(count, false) });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4096);
    expect(reportFrom(text)?.hosts).toHaveLength(count);
  }
});

it('names no host if there is no room for all, so that none counts as clean', () => {
  const text = verdictOf({ success: true, message: 'done', hosts: hosts(1000, true) });
  expect(reportFrom(text)).toEqual({ success: true, message: 'done', hosts: [] });
});

it('contains no secret', () => {
  const [host] = hosts(1, true);
  const reported = host ? [{ ...host, hostKeys: ['ssh-ed25519 KEYS'] }] : [];
  const text = verdictOf({ success: true, message: 'done', kubeconfig: 'KUBECONFIG', hosts: reported });
  expect(text).not.toMatch(/KUBECONFIG|KEYS/);
});
