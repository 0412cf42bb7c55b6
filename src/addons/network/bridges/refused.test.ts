import { expect, it } from 'vitest';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { sshHost } from '#ssh/testing/ssh-host.ts';
import { sshProvider } from './ssh-provider.ts';

it('tries a refused password again only after ten minutes', async () => {
  await using host = await sshHost({ wants: 'yes' });
  const clock = createManualClock();
  const holder = async () => ({ owner: 'networks', since: 1, term: 1 });
  const provider = sshProvider({ clock, holder, process: 'process-1' });
  const visit = async (password: string) => {
    const { host: ip, port, user, knownHosts } = host.target('ops');
    const ground = await provider.reach({ ip, port, user, knownHosts, password });
    try {
      await ground.session(async () => {});
    } finally {
      ground.close();
    }
  };
  const refused = { reason: 'SudoRefused' };
  // Several Networks use the host at once.
  const all = await Promise.allSettled(['no', 'no', 'no', 'no'].map(visit));
  expect(all.map((one) => one.status === 'rejected' && one.reason)).toMatchObject(all.map(() => refused));
  // Another Network has another password.
  await expect(visit('nor this')).rejects.toMatchObject(refused);
  const { length } = host.methods;
  await clock.advance(599_000);
  for (const password of ['no', 'nor this']) await expect(visit(password)).rejects.toMatchObject(refused);
  expect(host.methods).toHaveLength(length);
  await clock.advance(1_000);
  await expect(visit('no')).rejects.toMatchObject(refused);
  expect(await host.tried()).toEqual(['no', 'nor this', 'no']);
});

it('contacts a host again at once if it did not refuse the password', async () => {
  await using host = await sshHost({ says: 'ops is not in the sudoers file', code: 1 });
  const holder = async () => ({ owner: 'networks', since: 1, term: 1 });
  const provider = sshProvider({ clock: createManualClock(), holder, process: 'process-1' });
  const { host: ip, port, user, knownHosts } = host.target('ops');
  for (const calls of [2, 4]) {
    const ground = await provider.reach({ ip, port, user, knownHosts, password: 'right' });
    await expect(ground.session(async () => {})).rejects.toMatchObject({ reason: 'SudoRefused' });
    ground.close();
    expect(await host.calls()).toHaveLength(calls);
  }
});
