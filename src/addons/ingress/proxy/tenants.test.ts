import { describe, expect, it } from 'vitest';
import { settingsOf } from '../routing/settings.ts';
import { endpoint, useProxy } from './testing/proxy.fixture.ts';

/** Tests that one tenant's objects do not affect others. */
const test = useProxy({ trustedProxies: Array.from({ length: 200 }, (_, at) => `192.0.2.${at}/32`) });
const statusOf = async (host: string): Promise<string> =>
  (await test.raw(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).text.slice(9, 12);
const here = () => endpoint((_asked, answer) => answer.end());
let others = 0;
/** Waits until another tenant's change is in effect. */
async function othersFollow(): Promise<void> {
  others += 1;
  await test.route(`other-${others}`, [await here()]);
  expect(await statusOf(`other-${others}`)).toBe('200');
}
const annotation = (name: string, value: string) =>
  settingsOf({ metadata: { annotations: { [`ingress.ecs.yun.com/${name}`]: value } } });

describe('other hosts are served beside', () => {
  it('an Ingress with 300 networks', async () => {
    const networks = Array.from({ length: 300 }, (_, at) => `10.${at % 256}.0.0/16`).slice(0, 290);
    const { settings, problems } = annotation(
      'allow-from',
      [...networks.slice(0, 250), '127.0.0.0/8'].join(),
    );
    expect(problems).toEqual([]);
    await test.route('many-networks', [await here()], { rules: { settings } });
    expect(await statusOf('many-networks')).toBe('200');
    await othersFollow();
  });

  it('an endpoint with a malformed address, which gets no request', async () => {
    await test.route('sloppy', ['10.0.0.08:80', '[fe80::1%lo]:80', '127.0.0.1:0']);
    expect(await statusOf('sloppy')).toBe('503');
    await othersFollow();
  });

  it('a backend that HAProxy refuses, until it is corrected', async () => {
    const rule = { path: '/', match: 'prefix' } as const;
    const where = [await here()];
    await test.route('poison', where, { rules: { settings: { 'rewrite-to': '/a" "b' }, rule } });
    expect(await statusOf('poison')).toBe('503');
    await othersFollow();
    await test.route('poison', where, { rules: { settings: { 'rewrite-to': '/a' }, rule } });
    expect(await statusOf('poison')).toBe('200');
  });
});

it.each(['::/0.5', '::/1e-7', '::/0x8', '::/129', '10.0.0.0/33', '10.0.0.08/8', '::ffff%lo/8', '/8'])(
  'the network %s is refused',
  (network) => {
    expect(annotation('allow-from', network).problems).toHaveLength(1);
  },
);
