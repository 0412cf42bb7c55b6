import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

/** Reachability of nodes through the pod network; loopback addresses represent their ends of it. */
const ansible = join(import.meta.dirname, '../..', 'ansible');
const read = (path: string) => readFileSync(join(ansible, path), 'utf8');

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'reach-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function reach(podCidr: string, { network = 'flannel', joins = 'b', port = 10_250, dev = 'flannel.1' } = {}) {
  const script = `${read('files/prelude.sh')}
    ip() { case "$*" in 'route get '*) echo "$3 dev ${dev} src 127.0.0.1" ;; *) command ip "$@" ;; esac; }
    kubectl() { printf '%s\n' 'a 10.0.0.1 | 127.0.0.1/24' 'b 10.0.0.2 | ${podCidr}'; }
    NETWORK=${network} NODES='${joins}' REACH_SECONDS=1
    ${read('roles/readiness/files/reach.sh').replace('PORT=10250', `PORT=${port}`)}`;
  const { status, stderr } = spawnSync('bash', ['--norc', '-c', script], {
    encoding: 'utf8',
    env: { ...process.env, MATRYOSHKA_ROOT: root },
  });
  return { status, said: stderr };
}

it('accepts a node that refuses the connection', () => {
  expect(reach('127.0.0.2/24')).toEqual({ status: 0, said: '' });
});

it('accepts a node that listens', async () => {
  const server = createServer().listen(0, '127.0.0.3');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  expect(reach('127.0.0.3/24', { port: address.port })).toEqual({ status: 0, said: '' });
  server.close();
});

// 192.0.2.0/24 is reserved for documentation, so no machine answers there.
it('names a node that does not answer, and the fix', () => {
  expect(reach('192.0.2.9/24')).toEqual({
    status: 1,
    said: expect.stringMatching(/^pods of node b are not reached: .*10\.0\.0\.2.*UDP 8472/),
  });
});

it('does not accept the answer of a gateway', () => {
  expect(reach('127.0.0.2/24', { dev: 'eth0' })).toMatchObject({ status: 1 });
});

it.each([
  ['of a network of others', { network: 'none' }],
  ['that does not join', { joins: 'c' }],
])('probes no node %s', (_which, given) => {
  expect(reach('192.0.2.9/24', given)).toEqual({ status: 0, said: '' });
});
