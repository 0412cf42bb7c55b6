import { existsSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { read, repairRole } from './repair-role.fixture.ts';
import { CONFIG, SEAL, watchedHost } from './watched-host.fixture.ts';

const host = watchedHost();
const { at, text, put, bash, run, check, touch } = host;
const { script, compare, putBack, verify } = repairRole(host);

const SCHEDULER = '/etc/kubernetes/manifests/kube-scheduler.yaml';
const NEW = '/etc/kubernetes/.kube-scheduler.matryoshka';
const CRT = '/etc/kubernetes/pki/apiserver.crt';
const KEY = '/etc/kubernetes/pki/apiserver.key';
const OLD = '/var/lib/matryoshka/repair.old';

/** Kills the calling script at once, with all its shells. */
const DIE = `one=$PPID all=
while [ "$(cat /proc/$one/comm)" = bash ]; do all="$all $one"; one=$(awk '{ print $4 }' /proc/$one/stat); done
kill -9 $all`;

/** Runs the drift agent as after a start of the host: the task's file from `begin` is there, but no task runs. */
const boot = async () => {
  await rm(at('/run/matryoshka'), { recursive: true });
  await touch('/etc/matryoshka/seal.before');
  return check();
};

beforeEach(async () => {
  await run('begin');
  await put(SCHEDULER, 's', 0o600);
  await put(CRT, 'certificate');
  await put('/var/lib/matryoshka/.keep', '');
  await run('end');
});

describe('a host that dies while a static pod is replaced', () => {
  beforeEach(async () => {
    await run('begin');
    await put(NEW, 's', 0o600);
    await rm(at(SCHEDULER));
  });

  it('reports the missing manifest after a start, and the next repair restores it', async () => {
    expect(await boot()).toEqual([`file ${SCHEDULER} missing`]);
    await putBack();
    expect(await text('/var/lib/matryoshka/repair')).toBe('pod kube-scheduler\n');
    expect(existsSync(at(NEW))).toBe(false);
    expect(await text(SEAL)).not.toContain('.matryoshka');
  });

  it('gets its manifest back even if no copy is kept', async () => {
    await boot();
    await rm(at('/etc/matryoshka/kept'), { recursive: true });
    await compare();
    expect(await text(SCHEDULER)).toBe('s');
    expect(await verify()).toBe('did: changed');
  });
});

describe('a certificate that a repair issues', () => {
  const issue = async (kubeadm: string) => {
    await put('/bin/kubeadm', `#!/bin/bash\n${kubeadm}\n`, 0o755);
    const { differs = '' } = await compare();
    await run('begin');
    return script('certificates.sh', { DIFFERS: differs, KUBEADM_CONFIG: 'x' });
  };
  const write = (content: string) =>
    [KEY, CRT].map((path) => `echo ${content} > "$MATRYOSHKA_ROOT${path}"`).join('\n');

  it('is rolled back with its key if the host dies, and the drift stays', async () => {
    await rm(at(CRT));
    await issue(`${write('new')}\n${DIE}`).catch(() => undefined);
    expect(await text(KEY)).toBe('new\n');
    expect(await boot()).toEqual([expect.stringContaining(CRT), `file ${KEY} changed`]);
    expect((await compare())['repairs']).toBe('yes');
    expect(await text(KEY)).toBe('key');
    expect(existsSync(at(CRT))).toBe(false);
    expect(existsSync(at(OLD))).toBe(false);
    expect((await stat(at(KEY))).mode & 0o777).toBe(0o600);
    expect(await check()).toEqual([`file ${CRT} missing`]);
  });

  it('replaces a key of a user, which is set aside, but not a folder', async () => {
    await put(CRT, 'of the company');
    await put(KEY, 'key of the company', 0o644);
    await issue(write('new'));
    await run('end');
    const aside = `/var/lib/matryoshka/set-aside${KEY}`;
    expect(await text(aside)).toBe('key of the company');
    expect((await stat(at(aside))).mode & 0o777).toBe(0o600);
    await rm(at(KEY));
    await put(`${KEY}/x`, 'x');
    expect(await issue(write('new'))).toContain(`a folder stands where ${KEY} was`);
    expect(await text(`${KEY}/x`)).toBe('x');
  });

  it('changes nothing if kubeadm fails, and joins the baseline otherwise', async () => {
    await rm(at(CRT));
    expect(await issue('echo no room; exit 1')).toContain('kubeadm init phase certs apiserver: no room');
    await run('end');
    expect(await text(KEY)).toBe('key');
    expect(await issue(write('new'))).toContain('changed: issued again: certs apiserver');
    await run('end');
    expect(await check()).toEqual([]);
    expect(existsSync(at(OLD))).toBe(false);
  });
});

describe('a role script', () => {
  const [, sealing = ''] = /SEALING = '''([\s\S]*?)'''/.exec(read('plugins/action/host_script.py')) ?? [];
  const quoted = `'${read('files/watch').replaceAll("'", `'\\''`)}'`;
  const runScript = (body: string) =>
    bash(['-s'], `exec 2>&1\n${read('files/prelude.sh')}\nWATCH_OF_THE_RUN=${quoted}\n${sealing}\n${body}\n`);

  it('adds its changes to the baseline though the drift agent is gone', async () => {
    await rm(at('/usr/local/sbin/matryoshka-watch'), { force: true });
    await runScript(`printf ours > "$R${CONFIG}"; rm "$R${SCHEDULER}"`);
    expect(await check()).toEqual([]);
  });

  it('changes nothing if the baseline cannot be opened, and runs if there is none', async () => {
    await put('/bin/flock', '#!/bin/sh\nexit 1\n', 0o755);
    const said = await runScript(`printf ours > "$R${CONFIG}"`).catch(String);
    expect(said).toContain('the seal of this host cannot be opened');
    expect(await text(CONFIG)).toBe('version = 3\n');
    await rm(at(SEAL));
    await runScript(`printf ours > "$R${CONFIG}"`);
    expect(await text(CONFIG)).toBe('ours');
    expect(existsSync(at(SEAL))).toBe(false);
  });
});
