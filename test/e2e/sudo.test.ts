import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostEntry } from '#api/host.ts';
import { readyNodesOf, untilCluster } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byKubectl } from './by-kubectl.ts';
import { byNumber } from './by-number.ts';
import { openLane } from './lanes.ts';
import { tracesOn } from './traces.ts';

/** A cluster of hosts without root login. Their user may use sudo, with or without a password. */
const NAME = 'sudoers';
const USER = 'ops';
const RULES = '/etc/sudoers.d/matryoshka';
const OPERATION_MS = 8 * 60_000;
const PASSWORD = `open "sesame"`;
/**
 * The control plane's sudo keeps the user's PATH and umask. The worker's has neither /usr/local nor /usr/sbin in PATH, and
 * requires the user's password.
 */
const RULE = [
  `Defaults:${USER} !secure_path\n${USER} ALL=(root) NOPASSWD: ALL`,
  `Defaults:${USER} secure_path=/usr/bin, umask=0077\n${USER} ALL=(root) ALL`,
];

let meta: Meta;
let shell: ReturnType<typeof byKubectl>;
let traces: (index: number) => Promise<string[]>;

const used = [0, 1] as const;
const { host, nodes, sh } = byNumber(() => meta);

beforeAll(async () => {
  meta = await openLane();
  shell = byKubectl(meta, NAME);
  await shell.giveKeys();
  for (const index of used)
    await sh(
      index,
      `set -e; id ${USER} 2>/dev/null || useradd --create-home --shell /bin/bash ${USER}
       [ ! -e /root/.ssh/authorized_keys ] || mv /root/.ssh/authorized_keys /root/.ssh/kept
       install -d -m 700 -o ${USER} -g ${USER} /home/${USER}/.ssh
       install -m 600 -o ${USER} -g ${USER} /root/.ssh/kept /home/${USER}/.ssh/authorized_keys
       echo '${USER}:${PASSWORD}' | chpasswd
       echo '${RULE[index]}' > ${RULES}
       chmod 440 ${RULES}; visudo -cqf ${RULES}`,
    );
  traces = await tracesOn(meta);
});
afterAll(async () => {
  for (const index of used)
    await sh(
      index,
      `[ ! -e /root/.ssh/kept ] || mv /root/.ssh/kept /root/.ssh/authorized_keys
       rm -f ${RULES}; userdel -rf ${USER} 2>/dev/null || true`,
    );
  await meta.close();
});

const entry = (index: number): HostEntry => ({ ip: host(index).ip, user: USER });
const apply = (workers: readonly number[], word: string, requestId: string) =>
  shell.apply({ masters: [entry(0)], workers: workers.map(entry), word, requestId });
/** Returns the owner recorded on each host; before this test, that is another cluster or none. */
const owners = () =>
  Promise.all(used.map((index) => sh(index, 'cat /etc/matryoshka/owner.json 2>/dev/null || true')));

describe('a cluster of hosts whose user has sudo', () => {
  /** Expects that a run without access reports it and touches no host. */
  async function isRefused(requestId: string, says: string): Promise<void> {
    const before = await owners();
    await apply([1], 'creating', requestId);
    const refusal = new RegExp(`${USER} may not become root on ${host(1).ip} .*${says}`);
    await untilCluster(meta, NAME, (one) => refusal.test(one?.status?.message ?? ''), 90_000);
    expect(await owners()).toEqual(before);
    for (const index of used) expect(await traces(index)).toEqual([]);
  }

  it('is refused if sudo wants a password and none is given, with the fix', () =>
    isRefused('one', `give the password of ${USER}.*"${USER} ALL=\\(root\\) NOPASSWD: ALL"`));

  it('is refused with a wrong password, which is tried once', async () => {
    await shell.giveKeys(undefined, { password: 'another' });
    await isRefused('another', '1 incorrect password attempt');
    const log = await sh(1, `journalctl -q -b --no-pager _COMM=sudo`);
    expect(log.match(/incorrect password/g)).toHaveLength(1);
  });

  it('is created with the right password', async () => {
    await shell.giveKeys(undefined, { password: PASSWORD });
    await apply([1], 'creating', 'two');
    await shell.waitUpToDate();
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(...used));
  });

  it('leaves no Ansible folder in the home, and no key that the user can read', async () => {
    for (const index of used) {
      expect(await sh(index, `ls -A /home/${USER}`)).not.toContain('.ansible');
      const open = `runuser -u ${USER} -- find /etc/kubernetes /etc/matryoshka /var/lib/matryoshka /var/lib/kubelet/pki \\
        -type f -readable 2>/dev/null | grep -E '\\.(key|pem)$|/(super-)?admin\\.conf$|/kubelet\\.conf$' || true`;
      expect((await sh(index, open)).trim()).toBe('');
    }
  });

  it('removes its worker, and leaves no trace on the host', async () => {
    await apply([], 'scaling-down', 'three');
    await shell.waitUpToDate();
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0));
    expect(await traces(1)).toEqual([]);
  });

  it('is deleted, and leaves no trace on its hosts', async () => {
    await shell.run(['delete', 'ecs', NAME, '--wait=false']);
    await shell.untilGone(OPERATION_MS);
    for (const index of used) expect(await traces(index)).toEqual([]);
  });
});
