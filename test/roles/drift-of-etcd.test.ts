import { rm, utimes } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { APISERVER, unitFile, watchedHost } from './watched-host.fixture.ts';

const { at, text, put, bash, run, calls } = watchedHost();

describe('the drift agent', () => {
  const CURL = `#!/bin/sh
for word; do
  case $word in
  https://10.0.0.5:2379/v3/kv/range) exec cat "$MATRYOSHKA_ROOT/range" ;;
  https://10.0.0.5:2379/health) echo '{"health":"true","reason":""}' ;;
  https://10.0.0.5:2379/v3/maintenance/status) echo '{"header":{"cluster_id":"7","member_id":"12","revision":"4"},"version":"3.6.4","leader":"12","raftTerm":"7"}'; exit ;;
  https://127.0.0.1:2379/health) echo '{"health":"true","reason":""}' ;;
  https://127.0.0.1:2379/v3/maintenance/status) echo '{"header":{"cluster_id":"7","member_id":"13","revision":"4"},"version":"3.6.4","leader":"12","raftTerm":"13"}'; exit ;;
  https://10.0.0.6:2379/health) echo '{"health":"false","reason":"ALARM NOSPACE\\u001b"}' ;;
  https://10.0.0.6:2379/v3/maintenance/status) echo '{"header":{"member_id":"14"},"leader":"12"}'; exit ;;
  */health) exit 7 ;;
  esac
done
echo "$*" >> "$MATRYOSHKA_ROOT/calls"; cat > "$MATRYOSHKA_ROOT/sent"; cat "$MATRYOSHKA_ROOT/answer"
`;
  const Reported = z.object({
    metadata: z.object({ annotations: z.object({ 'ecs.yun.com/etcd': z.string().nullable() }) }),
  });
  const sent = async () =>
    Reported.parse(JSON.parse(await text('/sent'))).metadata.annotations['ecs.yun.com/etcd'];

  it('reports the health of external etcd members, again after a minute', async () => {
    const urls = ['https://10.0.0.5:2379', 'https://10.0.0.6:2379', 'https://[fd00::7]:2379'];
    await run('begin');
    await put(APISERVER, `    - --etcd-servers=${urls.join(',')}\n`);
    await put('/bin/curl', CURL, 0o755);
    await run('end');
    await run('look');
    const members = [
      ['10.0.0.5', 'healthy'],
      ['10.0.0.6', 'ALARM NOSPACEub'],
      ['fd00::7', 'does not answer'],
    ];
    const { at: when, ...said } = JSON.parse((await sent()) ?? '');
    expect(said).toEqual({ members, leader: '10.0.0.5' });
    expect(Date.parse(when)).toBeGreaterThan(0);
    await run('look');
    await utimes(at('/run/matryoshka/watch/told'), new Date(), new Date(Date.now() - 61_000));
    await run('look');
    expect(await calls()).toHaveLength(2);
  });

  it('passes on the drift reports of etcd hosts, which it reads from etcd', async () => {
    const coded = (text: string) => Buffer.from(text).toString('base64');
    const said = (n: number) => [coded(`/matryoshka/drift/n${n}`), coded(`{"count":${n}}`)] as const;
    const kvs = [1, 2].map(said).map(([key, value]) => ({ key, create_revision: '3', version: '1', value }));
    await run('begin');
    await put(APISERVER, '    - --etcd-servers=https://10.0.0.6:2379,https://10.0.0.5:2379\n');
    await put('/bin/curl', CURL, 0o755);
    await put('/range', JSON.stringify({ header: { revision: '9' }, kvs, count: '2' }));
    await run('end');
    await run('look');
    const passedOn = async () =>
      z
        .object({
          metadata: z.object({
            annotations: z.object({ 'ecs.yun.com/drift-of-etcd': z.string().nullable() }),
          }),
        })
        .parse(JSON.parse(await text('/sent'))).metadata.annotations['ecs.yun.com/drift-of-etcd'];
    const { at: when, hosts } = JSON.parse((await passedOn()) ?? '');
    expect(hosts).toEqual([said(1), said(2)]);
    expect(Date.parse(when)).toBeGreaterThan(0);
    await put('/range', '{"header":{"revision":"10"}}');
    await run('look');
    expect(await passedOn()).toBeNull();
  });

  it('reports an etcd member beside its control plane by address', async () => {
    await run('begin');
    await put(APISERVER, '    - --advertise-address=10.0.0.1\n    - --etcd-servers=https://127.0.0.1:2379\n');
    await put('/bin/curl', CURL, 0o755);
    await run('end');
    await run('look');
    expect(JSON.parse((await sent()) ?? '')).toMatchObject({ members: [['10.0.0.1', 'healthy']] });
  });

  it('reports no etcd members from a host that is no control plane', async () => {
    await run('begin');
    await run('end');
    await run('look');
    expect(await sent()).toBeNull();
  });
});

describe('the drift agent of an etcd host', () => {
  const KEY = '/etc/matryoshka/etcd/server.key';
  const CA = '/etc/matryoshka/etcd/ca.crt';
  /** etcd that answers at the loopback address; it records each request. */
  const CURL = `#!/bin/bash
while [ $# -gt 0 ]; do case $1 in --data) data=$2 ;; --cert) cert=$2 ;; --cacert) ca=$2 ;; https://*) url=$1 ;; esac; shift; done
case $url in https://127.0.0.1:*) [ ! -e "$MATRYOSHKA_ROOT/stopped" ] ;; https://10.0.0.6:*) ;; *) false ;; esac || exit 7
[ "$(cat "$ca")" = ca ] || exit 60
case $cert in */server.crt) [ -e "$MATRYOSHKA_ROOT${KEY}" ] || exit 58 ;; esac
case $url in
*:2379/v3/lease/grant) echo '{"header":{"revision":"4"},"ID":"77","TTL":"1800"}' ;;
*:2379/v3/kv/put) echo "$data" >> "$MATRYOSHKA_ROOT/put"; echo '{"header":{"revision":"5"}}' ;;
*) exit 7 ;;
esac
`;
  const Put = z.object({ key: z.base64(), value: z.base64(), lease: z.literal('77') });
  const plain = (text: string) => Buffer.from(text, 'base64').toString();
  const puts = async () =>
    (await text('/put'))
      .trim()
      .split('\n')
      .map((line) => Put.parse(JSON.parse(line)));
  const last = async () => {
    const { key, value } = (await puts()).at(-1) ?? { key: '', value: '' };
    return [plain(key), JSON.parse(plain(value))];
  };

  async function becomes(): Promise<void> {
    await run('begin');
    await rm(at('/etc/kubernetes'), { recursive: true });
    await rm(at('/var/lib/kubelet'), { recursive: true });
    await put(KEY, 'key', 0o600);
    await put('/etc/matryoshka/etcd/server.crt', 'cert', 0o600);
    await put(CA, 'ca', 0o600);
    await put('/var/lib/matryoshka/etcd/usr/local/bin/etcd', 'e', 0o755);
    await put('/bin/curl', CURL, 0o755);
    await run('end');
  }

  it('writes reports to etcd with a lease, at each change and every ten minutes', async () => {
    await becomes();
    await run('look');
    expect(await last()).toEqual([
      '/matryoshka/drift/n1',
      { at: expect.stringMatching(/^20.*Z$/), count: 0, things: [] },
    ]);
    await put('/var/lib/matryoshka/etcd/usr/local/bin/etcd', 'x1', 0o755);
    await put('/etc/matryoshka/etcd/server.crt', 'other', 0o600);
    await run('look');
    const things = [
      ['file', '/etc/matryoshka/etcd/server.crt', 'changed'],
      ['file', '/var/lib/matryoshka/etcd/usr/local/bin/etcd', 'changed'],
    ];
    expect((await last())[1]).toMatchObject({ count: 2, things });
    await run('look');
    expect(await puts()).toHaveLength(2);
    await utimes(at('/run/matryoshka/watch/told'), new Date(), new Date(Date.now() - 601_000));
    await run('look');
    expect(await puts()).toHaveLength(3);
  });

  it('uses its other certificate if the key of the server is lost', async () => {
    await becomes();
    await rm(at(KEY));
    await run('look');
    expect((await last())[1]).toMatchObject({ things: [['file', KEY, 'missing']] });
  });

  it('uses the authority of the baseline if the file was changed', async () => {
    await becomes();
    await put(CA, 'theirs', 0o600);
    await run('look');
    expect((await last())[1]).toMatchObject({ things: [['file', CA, 'changed']] });
  });

  it('writes to another member if its own member does not run', async () => {
    await becomes();
    await put(
      unitFile('matryoshka-etcd.service'),
      '  --initial-cluster=n1=https://10.0.0.5:2380,n2=https://10.0.0.6:2380 --initial-cluster-state=new \\\n',
    );
    await put('/stopped', '');
    await run('look');
    expect((await last())[1]).toMatchObject({ count: 0 });
  });

  it('keeps no copy of its keys', async () => {
    await becomes();
    const kept = await bash(['-c', 'cat "$MATRYOSHKA_ROOT"/etc/matryoshka/kept/*']);
    expect(kept).toContain('cert');
    expect(kept).not.toContain('key');
  });
});
