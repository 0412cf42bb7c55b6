import { expect, it } from 'vitest';
import { verdictOf } from './report.ts';

const hosts = (count: number, ok: boolean) =>
  Array.from({ length: count }, (_, index) => ({
    ip: `10.0.${index >> 8}.${index & 255}`,
    ok,
    message: 'why '.repeat(80),
  }));

it('names every host that failed, with less of why the more there are', () => {
  for (const count of [1, 20, 90]) {
    const text = verdictOf({
      success: true,
      message: 'done',
      hosts: [...hosts(count, false), ...hosts(50, true)],
    });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4096);
    expect(JSON.parse(text).hosts).toHaveLength(count);
  }
});

it('lets no host pass for clean that it has no room to name', () => {
  const verdict = JSON.parse(verdictOf({ success: true, message: 'done', hosts: hosts(1000, false) }));
  expect(verdict).toMatchObject({ success: false, reason: 'TooManyFailures' });
});

it('holds no secret', () => {
  const text = verdictOf({
    success: true,
    message: 'done',
    kubeconfig: 'KUBECONFIG',
    knownHosts: 'KEYS',
    hosts: [],
  });
  expect(text).not.toMatch(/KUBECONFIG|KEYS/);
});
