import { expect, it } from 'vitest';
import { type Sudo, sshHost } from '#ssh/testing/ssh-host.ts';
import { type Check, fine } from './check.ts';
import { precheck } from './run.ts';

/** Check that reports the user who runs the script. */
const who: Check = { name: 'who', script: () => 'say who "$HOME"', good: '', check: () => fine };

async function checkHost(user: string, sudo: Sudo, password?: string, checks: readonly Check[] = [who]) {
  await using host = await sshHost(sudo);
  const hosts = [
    {
      name: 'a',
      ip: '10.0.0.1',
      role: 'worker',
      clusterId: 'c',
      target: host.target(user, password),
    } as const,
  ];
  return await precheck(hosts, checks, { limits: {} });
}

it('checks a host as root if the user has sudo', async () => {
  const { said, problems } = await checkHost('ops', 'grants');
  expect(said.get('10.0.0.1')?.text('who')).toBe('/became/root');
  expect(problems).toEqual([]);
});

it('reports the sudoers line to add, and discards the output, if sudo is refused', async () => {
  const { said, problems, knownHosts } = await checkHost('ops', { says: 'a password is required', code: 1 });
  expect(problems).toEqual([
    {
      ip: '10.0.0.1',
      check: 'SudoRefused',
      severity: 'error',
      message: expect.stringContaining('"ops ALL=(root) NOPASSWD: ALL"'),
    },
  ]);
  // Unreadable data must not count as absent: an owner file, things of others.
  expect([said.size, knownHosts]).toEqual([0, '']);
});

it.each<[string, Sudo, string[]]>([
  ['asks', { wants: 'yes' }, ['10.0.0.1']],
  ['does not', 'grants', []],
])('reports whether sudo of a host asks for the password: it %s', async (_what, sudo, expected) => {
  const { sudoAsks, problems } = await checkHost('ops', sudo, 'yes');
  expect([...sudoAsks]).toEqual(expected);
  expect(problems).toEqual([]);
});

it('reports one problem, and no findings, if the script is killed', async () => {
  const killed: Check = { ...who, script: () => 'kill -9 $$' };
  const judge: Check = { ...who, check: () => ({ warnings: [], errors: ['has NaN CPU'] }) };
  const { problems, said } = await checkHost('root', 'grants', undefined, [who, killed, judge]);
  expect(problems).toEqual([
    expect.objectContaining({
      check: 'AnswerIncomplete',
      message: expect.stringContaining('exit code 137: signal 9 ended the command'),
    }),
  ]);
  expect(said.size).toBe(0);
});

it('limits the length of quoted output, and strips control characters', async () => {
  const script = () =>
    `i=0; while [ $i -lt 300 ]; do say thing "$(printf 'a\\033[2Jb\\302\\233c %s' $i)"; i=$((i + 1)); done`;
  const quotes: Check = {
    name: 'quotes',
    script,
    good: '',
    check: ({ host }) => ({ warnings: [], errors: [host.said.all('thing').join(', ')] }),
  };
  const { problems } = await checkHost('root', 'grants', undefined, [quotes]);
  const [message = ''] = problems.map((problem) => problem.message);
  expect([message.startsWith('a [2Jb c 0, a [2Jb c 1'), message.length]).toEqual([true, 2_002]);
  expect(message).not.toMatch(/\p{Cc}/u);
});
