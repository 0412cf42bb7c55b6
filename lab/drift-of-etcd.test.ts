import { utimes } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { APISERVER, watchedHost } from './watched-host.fixture.ts';

const { at, text, put, run, calls } = watchedHost();

describe('members of etcd', () => {
  const CURL = `#!/bin/sh
case "$*" in
*https://10.0.0.5:2379/v3/maintenance/status*) echo '{"header":{"cluster_id":"7","member_id":"12","revision":"4"},"version":"3.6.4","leader":"12","raftTerm":"7"}' ;;
*https://127.0.0.1:2379/v3/maintenance/status*) echo '{"header":{"cluster_id":"7","member_id":"13","revision":"4"},"version":"3.6.4","leader":"12","raftTerm":"13"}' ;;
*https://127.0.0.1:2379/health) echo '{"health":"true","reason":""}' ;;
*https://10.0.0.5:2379/health) echo '{"health":"true","reason":""}' ;;
*https://10.0.0.6:2379/health) echo '{"health":"false","reason":"ALARM NOSPACE\\u001b"}' ;;
*/health) exit 7 ;;
*) echo "$*" >> "$MATRYOSHKA_ROOT/calls"; cat > "$MATRYOSHKA_ROOT/sent"; cat "$MATRYOSHKA_ROOT/answer" ;;
esac
`;
  const Told = z.object({
    metadata: z.object({ annotations: z.object({ 'ecs.yun.com/etcd': z.string().nullable() }) }),
  });
  const sent = async () =>
    Told.parse(JSON.parse(await text('/sent'))).metadata.annotations['ecs.yun.com/etcd'];

  it('on hosts of their own are told of as they answer this control plane, each minute anew', async () => {
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

  it('beside this control plane is told of by its address', async () => {
    await run('begin');
    await put(APISERVER, '    - --advertise-address=10.0.0.1\n    - --etcd-servers=https://127.0.0.1:2379\n');
    await put('/bin/curl', CURL, 0o755);
    await run('end');
    await run('look');
    expect(JSON.parse((await sent()) ?? '')).toMatchObject({ members: [['10.0.0.1', 'healthy']] });
  });

  it('are not told of by a host that is no control plane', async () => {
    await run('begin');
    await run('end');
    await run('look');
    expect(await sent()).toBeNull();
  });
});
