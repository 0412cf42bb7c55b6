import { chmod, chown, mkdir, rename, rm, symlink } from 'node:fs/promises';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { APISERVER, CONFIG, KUBELET, MADE, SEAL, unitFile, watchedHost } from './watched-host.fixture.ts';

const { at, text, put, units, run, reported, check, touch, calls } = watchedHost();

/** More than twenty kinds of drift, each with its report. */
const KINDS: readonly [string, () => Promise<void>, string][] = [
  ['a configuration is edited', () => put(CONFIG, 'version = 2\n'), `file ${CONFIG} changed`],
  ['it grows', () => put(CONFIG, 'version = 3\n\n'), `file ${CONFIG} changed`],
  ['it is gone', () => rm(at(CONFIG)), `file ${CONFIG} missing`],
  ['its mode is another', () => chmod(at(CONFIG), 0o600), `file ${CONFIG} mode 600 instead of 644`],
  ['its owner is another', () => chown(at(CONFIG), 7, 8), `file ${CONFIG} owner 7:8 instead of 0:0`],
  [
    'a link stands in its place',
    async () => {
      await rename(at(CONFIG), at('/elsewhere'));
      await symlink(at('/elsewhere'), at(CONFIG));
    },
    `file ${CONFIG} is a link`,
  ],
  [
    'a folder stands in its place',
    async () => {
      await rm(at(CONFIG));
      await mkdir(at(CONFIG));
    },
    `file ${CONFIG} missing`,
  ],
  ['a binary is another version', () => put(KUBELET, 'newer'), `file ${KUBELET} changed`],
  [
    'a binary has other bytes of the same length',
    () => put(KUBELET, 'x'.repeat(2 * 1024 * 1024)),
    `file ${KUBELET} changed`,
  ],
  ['a CNI plugin is gone', () => rm(at('/opt/cni/bin/bridge')), 'file /opt/cni/bin/bridge missing'],
  ['a static pod’s manifest is edited', () => put(APISERVER, 'b', 0o600), `file ${APISERVER} changed`],
  ['a static pod’s manifest is gone', () => rm(at(APISERVER)), `file ${APISERVER} missing`],
  [
    'a key may be read by everybody',
    () => chmod(at('/etc/kubernetes/pki/apiserver.key'), 0o644),
    'file /etc/kubernetes/pki/apiserver.key mode 644 instead of 600',
  ],
  [
    'a key is another',
    () => put('/etc/kubernetes/pki/apiserver.key', 'kex', 0o600),
    'file /etc/kubernetes/pki/apiserver.key changed',
  ],
  [
    'the kubelet’s configuration is edited',
    () => put('/var/lib/kubelet/config.yaml', 'kubelex'),
    'file /var/lib/kubelet/config.yaml changed',
  ],
  [
    'a mirror is edited',
    () => put('/etc/containerd/certs.d/ghcr.io:5000/hosts.toml', 'x'),
    'file /etc/containerd/certs.d/ghcr.io:5000/hosts.toml changed',
  ],
  [
    'the manifest of what was made is edited',
    () => put(MADE, 'cluster mine\nrole unit kubelet.service\n'),
    'file /etc/matryoshka/made changed',
  ],
  [
    'the fence is gone',
    () => rm(at('/usr/local/sbin/matryoshka-fence')),
    'file /usr/local/sbin/matryoshka-fence missing',
  ],
  [
    'our line of /etc/hosts is gone',
    () => put('/etc/hosts', '127.0.0.1 localhost\n'),
    'hosts /etc/hosts lines of the API servers changed',
  ],
  [
    'a kernel setting is another',
    () => put('/proc/sys/net/ipv4/ip_forward', '0\n'),
    'sysctl net.ipv4.ip_forward is 0, was made 1',
  ],
  [
    'the file of kernel settings is edited',
    () => put('/etc/sysctl.d/99-matryoshka.conf', ''),
    'file /etc/sysctl.d/99-matryoshka.conf changed',
  ],
  ['swap is on', () => put('/proc/swaps', 'Filename\n/swap\n'), 'swap swap is on'],
  [
    'a unit is disabled',
    () => units('kubelet.service', { UnitFileState: 'disabled' }),
    'unit kubelet.service not enabled',
  ],
  [
    'a unit is stopped',
    () => units('containerd.service', { ActiveState: 'inactive' }),
    'unit containerd.service not running',
  ],
  [
    'a unit fails',
    () => units('containerd.service', { ActiveState: 'failed' }),
    'unit containerd.service not running',
  ],
  [
    'a unit is masked',
    () => units('kubelet.service', { UnitFileState: 'masked', FragmentPath: '/dev/null' }),
    'unit kubelet.service masked',
  ],
  [
    'a unit’s file is edited',
    () => put(unitFile('kubelet.service'), 'x'),
    'file /etc/systemd/system/kubelet.service changed',
  ],
  [
    'a drop-in changes a unit',
    () => units('kubelet.service', { DropInPaths: '/etc/systemd/system/kubelet.service.d/x.conf' }),
    'unit kubelet.service changed by /etc/systemd/system/kubelet.service.d/x.conf',
  ],
  [
    'another file of that name is the unit',
    () => units('kubelet.service', { FragmentPath: '/run/systemd/system/kubelet.service' }),
    'unit kubelet.service runs by /run/systemd/system/kubelet.service',
  ],
];

/** Checks until nothing differs and no sum is missing. */
async function settled(): Promise<void> {
  for (let checks = 0; checks < 4; checks += 1) expect(await check()).toEqual([]);
}

describe('the drift agent', () => {
  it.each(KINDS)('reports only that %s', async (_, drift, says) => {
    await drift();
    expect(await check()).toEqual([says]);
  });

  it.each(KINDS)('reports drift after checks that found none: %s', async (_, drift, says) => {
    await settled();
    await drift();
    expect(await check()).toEqual([says]);
    expect(await check()).toEqual([says]);
  });

  it('compares the host with the baseline only after something changed', async () => {
    await settled();
    await put(
      '/bin/sort',
      '#!/bin/sh\necho compared >> "$MATRYOSHKA_ROOT/sorted"; exec /usr/bin/sort "$@"\n',
      0o755,
    );
    await run('look');
    await expect(text('/sorted')).rejects.toThrow('ENOENT');
    await touch(CONFIG);
    expect(await check()).toEqual([]);
    expect(await text('/sorted')).toContain('compared');
  });
});

describe('the baseline', () => {
  it('does not cover renewed certificates, files of others, and modification times', async () => {
    await run('look');
    await put('/var/lib/kubelet/pki/kubelet-client-current.pem', 'renewed');
    await put('/etc/kubernetes/manifests/of-somebody.yaml', 'x');
    await put('/etc/kubernetes/tmp/backup', 'x');
    await touch(CONFIG);
    await put(KUBELET, 'k'.repeat(2 * 1024 * 1024));
    await units('kubelet.service', {
      ActiveState: 'activating',
      DropInPaths: '/usr/lib/systemd/system/service.d/10-of-the-distribution.conf',
    });
    expect(await check()).toEqual([]);
    await rm(at('/etc/kubernetes/manifests/of-somebody.yaml'));
    expect(await check()).toEqual([]);
  });

  it('includes files that a script of a run changes, removes or adds', async () => {
    await run('begin');
    await put(CONFIG, 'ours');
    await rm(at('/opt/cni/bin/bridge'));
    await put('/etc/kubernetes/admin.conf', 'ours');
    await put('/etc/hosts', '10.0.0.2 api.demo # matryoshka mine\n');
    await rm(at('/sent'), { force: true });
    await run('look');
    await expect(reported()).rejects.toThrow('ENOENT');
    await run('end');
    expect(await check()).toEqual([]);
    await rm(at('/etc/kubernetes/admin.conf'));
    expect(await check()).toEqual(['file /etc/kubernetes/admin.conf missing']);
  });

  it('does not adopt an earlier change by a user when a script runs', async () => {
    await put(CONFIG, 'theirs');
    await run('begin');
    await put('/var/lib/kubelet/config.yaml', 'ours');
    await run('end');
    expect(await check()).toEqual([`file ${CONFIG} changed`]);
    await run('begin');
    await put(CONFIG, 'version = 3\n');
    await run('end');
    expect(await check()).toEqual([]);
  });

  it('survives a kill while it is written', async () => {
    const sealed = await text(SEAL);
    await run('begin');
    await put(CONFIG, 'ours');
    await put(
      '/bin/awk',
      '#!/bin/bash\ncase "$*" in *since=*) /usr/bin/awk "$@" | head -n 4; kill -9 $$ ;; esac\nexec /usr/bin/awk "$@"\n',
      0o755,
    );
    await run('end').catch(() => undefined);
    expect(await text(SEAL)).toBe(sealed);
    await rm(at('/bin/awk'));
    await run('begin');
    await run('end');
    expect(await check()).toEqual([]);
  });

  it('includes the changes of an interrupted script once its run has ended', async () => {
    await run('begin');
    await put(CONFIG, 'ours');
    await run('look');
    await expect(reported()).rejects.toThrow('ENOENT');
    await touch('/etc/matryoshka/seal.before');
    await put('/bin/systemctl', '#!/bin/sh\n[ "$1" = show ] || echo matryoshka-run.x.scope\n', 0o755);
    await run('look');
    await expect(reported()).rejects.toThrow('ENOENT');
    await put('/bin/systemctl', '#!/bin/sh\n[ "$1" != show ] || cat "$MATRYOSHKA_ROOT/units"\n', 0o755);
    expect(await check()).toEqual([]);
    await put(CONFIG, 'theirs');
    expect(await check()).toEqual([`file ${CONFIG} changed`]);
  });

  it('gets a file of Matryoshka when the file first appears', async () => {
    await put('/etc/cni/net.d/10-flannel.conflist', 'flannel');
    expect(await check()).toEqual([]);
    await put('/etc/cni/net.d/10-flannel.conflist', 'flannex');
    expect(await check()).toEqual(['file /etc/cni/net.d/10-flannel.conflist changed']);
  });

  it('is not checked on a host that has not joined', async () => {
    await rm(at('/etc/matryoshka/joined'));
    await put(CONFIG, 'x');
    await run('look');
    await expect(reported()).rejects.toThrow('ENOENT');
  });
});

describe('a drift report', () => {
  /** A curl that succeeds only with an explicit address (--connect-to), not by name. */
  const BY_ANOTHER_WAY =
    '#!/bin/sh\ncat > "$MATRYOSHKA_ROOT/sent"\necho "$@" >> "$MATRYOSHKA_ROOT/calls"\ncase "$*" in *--connect-to*) echo 200 ;; *) echo 000 ;; esac\n';
  const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1';

  it('has no file content, a bounded size, and the full count', async () => {
    await put(APISERVER, 'token: secret', 0o600);
    const long = Array.from({ length: 40 }, (_, index) => `role file /etc/${'long-'.repeat(20)}${index}`);
    await put(MADE, `${await text(MADE)}${long.join('\n')}\n`);
    for (const line of long) await put(line.slice('role file '.length), 'secret');
    await check();
    for (const line of long) await rm(at(line.slice('role file '.length)));
    await run('look');
    const sent = await text('/sent');
    expect(sent.length).toBeLessThan(1500);
    expect(sent).not.toContain('secret');
    expect((await reported()).count).toBe(42);
  });

  it('names the certificate that ends first, in a kubeconfig too', async () => {
    const certificate = async (days: number) => {
      const subject = ['-subj', '/CN=x', '-days', String(days)];
      const args = [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-keyout',
        '/dev/null',
      ];
      return (await execa('openssl', [...args, ...subject])).stdout;
    };
    await put('/etc/kubernetes/pki/apiserver.crt', await certificate(20));
    const data = Buffer.from(await certificate(10)).toString('base64');
    await put('/etc/kubernetes/scheduler.conf', `    client-certificate-data: ${data}\n`);
    await run('look');
    const [end = '', file] = (await reported()).certificate ?? [];
    expect(file).toBe('/etc/kubernetes/scheduler.conf');
    expect(Math.round((Date.parse(end) - Date.now()) / 86_400_000)).toBe(10);
  });

  it('goes to the Lease of this node once, and again after a change', async () => {
    await check();
    await check();
    expect(await calls()).toHaveLength(1);
    expect((await calls())[0]).toMatch(new RegExp(`https://api.demo:6443${LEASE}$`));
    await put(CONFIG, 'x');
    await check();
    expect(await calls()).toHaveLength(2);
  });

  it('is sent again after a while without changes', async () => {
    await check();
    await touch('/run/matryoshka/watch/told');
    await check();
    expect(await calls()).toHaveLength(2);
  });

  it('uses the address in the baseline if /etc/hosts and the kubeconfig changed', async () => {
    await put('/etc/hosts', '127.0.0.1 localhost\n');
    await put('/etc/kubernetes/kubelet.conf', 'gone', 0o600);
    await put('/bin/curl', BY_ANOTHER_WAY, 0o755);
    expect(await check()).toContain('hosts /etc/hosts lines of the API servers changed');
    expect((await calls())[1]).toMatch(
      new RegExp(`--connect-to ::10.0.0.1:6443 .* https://api.demo:6443${LEASE}$`),
    );
  });

  it('uses an IPv6 address too', async () => {
    await put('/etc/hosts', 'fd00::1 api.demo # matryoshka c1\n');
    await put('/bin/curl', BY_ANOTHER_WAY, 0o755);
    await run('look');
    expect((await calls())[1]).toContain('--connect-to ::[fd00::1]:6443 ');
  });
});

describe('a file that a full disk has left empty', () => {
  it('stays out of the baseline and counts as drift', async () => {
    await run('begin');
    await put(CONFIG, '');
    await run('end');
    expect(await check()).toEqual([`file ${CONFIG} changed`]);
  });
});
