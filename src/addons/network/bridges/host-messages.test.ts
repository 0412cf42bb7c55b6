import { expect, it } from 'vitest';
import { seenIn, troubleOf } from './host-messages.ts';

it.each([
  [81, 'HostConflict: this host belongs to cluster c, not networks-a', 'HostConflict'],
  [82, 'StaleRun: this host is at 2.1, this run is 1.1', 'StaleRun'],
  [83, 'HostBusy: hold.c has not ended', 'HostBusy'],
  [84, 'HostConflict: /etc/matryoshka/owner.json is damaged', 'HostFailed'],
  [86, 'there is no nft here; install nftables', 'ToolMissing'],
  [87, 'link mxn-x is there', 'NameTaken'],
  [1, 'RTNETLINK answers: Operation not permitted', 'HostFailed'],
])('exit code %i is reported with the last line: %s', (code, stderr, reason) => {
  expect(troubleOf('192.0.2.1', { code, stderr: `Warning: first\n${stderr}\n` })).toMatchObject({
    reason,
    message: `192.0.2.1: ${stderr}`,
  });
});

it('a silent failure has its exit code; a message is short, without control characters', () => {
  expect(troubleOf('h', { code: 255, stderr: '' }).message).toBe('h: exit code 255');
  const { message } = troubleOf('h', { code: 1, stderr: `\u001b[2J${'x'.repeat(5_000)}` });
  expect(message.length).toBeLessThan(400);
  expect(message).not.toContain('\u001b');
});

it('an unexpected line is reported without control characters', () => {
  expect(() => seenIn('h', `\u001b[2J${'x'.repeat(5_000)}\u202e`)).toThrow(
    /^h sends an unexpected line: \[2Jx{290,300}$/,
  );
});

it('the report of a host has bridges, whole or not, and foreign addresses', () => {
  const lines = [
    'bridge\tmxn-a\t10.9.0.1/24,10.9.1.1/24\tyes',
    'bridge\tmxn-b\t\tno',
    'foreign\teth0\t192.0.2.7/24',
    'foreign\t-\t10.0.0.0/8',
  ];
  expect(seenIn('h', `${lines.join('\n')}\n`)).toEqual({
    bridges: [
      { name: 'mxn-a', addresses: ['10.9.0.1/24', '10.9.1.1/24'], whole: true },
      { name: 'mxn-b', addresses: [], whole: false },
    ],
    foreign: [
      { link: 'eth0', to: '192.0.2.7/24' },
      { link: '-', to: '10.0.0.0/8' },
    ],
  });
});

it.each(['bridge\tmxn-a', 'Welcome to this host', 'foreign\teth0'])(
  'an unknown line is an error: %s',
  (line) => {
    expect(() => seenIn('h', line)).toThrow(/h sends an unexpected line/);
  },
);
