import { expect, it } from 'vitest';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { sshHost } from '#ssh/testing/ssh-host.ts';
import { sshProvider } from './ssh-provider.ts';

it('tries a password that a host refused no sooner than it may without locking its user out', async () => {
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
  await expect(visit('no')).rejects.toMatchObject(refused);
  const { length } = host.methods;
  await clock.advance(599_000);
  await expect(visit('no')).rejects.toMatchObject(refused);
  expect(host.methods).toHaveLength(length);
  // Somebody has given another one.
  await expect(visit('nor this')).rejects.toMatchObject(refused);
  await clock.advance(600_000);
  await expect(visit('nor this')).rejects.toMatchObject(refused);
  expect(await host.tried()).toEqual(['no', 'nor this', 'nor this']);
});
