import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { firstReady, forClients } from './kubeconfig.ts';

const data = Buffer.from('x').toString('base64');
const adminConfig = (user: string) => `
apiVersion: v1
kind: Config
clusters: [{name: kubernetes, cluster: {server: "https://api.internal:6443", certificate-authority-data: ${data}}}]
contexts: [{name: kubernetes-admin@kubernetes, context: {cluster: kubernetes, user: kubernetes-admin}}]
current-context: kubernetes-admin@kubernetes
users: [{name: kubernetes-admin, user: ${user}}]
`;
const certificate = `{client-certificate-data: ${data}, client-key-data: ${data}}`;
const cluster = { namespace: 'default', name: 'demo' };

it('gives external clients the address of the endpoint, and names that include the cluster', () => {
  const config = parse(forClients(adminConfig(certificate), 'fd00::1', cluster));
  expect(config).toMatchObject({
    clusters: [{ name: 'demo.default', cluster: { server: 'https://[fd00::1]:6443' } }],
    users: [{ name: 'demo.default-admin' }],
    contexts: [{ name: 'demo.default', context: { cluster: 'demo.default', user: 'demo.default-admin' } }],
    'current-context': 'demo.default',
  });
});

it('drops fields that a host could have planted', () => {
  const planted = `{client-certificate-data: ${data}, client-key-data: ${data}, exec: {command: /bin/sh}}`;
  expect(forClients(adminConfig(planted), '10.0.0.1', cluster)).not.toContain('exec');
  expect(() => forClients(adminConfig('{exec: {command: /bin/sh}}'), '10.0.0.1', cluster)).toThrow();
});

describe('the control plane that a kubeconfig names', () => {
  const masters = ['m1', 'm2', 'm3'].map((ip) => ({
    member: { ip, name: ip, duties: ['control-plane' as const] },
    action: 'stay' as const,
  }));
  /**
   * Returns the host that firstReady chooses, given each API server's answer on its host; undefined: SSH does not reach that
   * host.
   */
  const named = async (...answers: (string | Error | undefined)[]) => {
    const connections = new Map(
      answers.flatMap((stdout, at) => {
        const run = () =>
          stdout instanceof Error
            ? Promise.reject(stdout)
            : Promise.resolve({ code: 0, stdout: stdout ?? '', stderr: '' });
        return stdout === undefined ? [] : [[`m${at + 1}`, { run }] as const];
      }),
    );
    return (await firstReady(masters, connections))?.ip;
  };

  it.each<[string, (string | Error | undefined)[], string | undefined]>([
    ['is the first that is ready', ['ok', 'ok', 'ok'], 'm1'],
    ['is not one that SSH does not reach', [undefined, 'ok', 'ok'], 'm2'],
    ['is not one whose API server is not ready', ['[-]etcd failed', '', 'ok\n'], 'm3'],
    ['is not one that does not answer', [new Error('timeout'), 'ok'], 'm2'],
    ['is the first that SSH reaches where none is ready', [undefined, '', ''], 'm2'],
    ['is none where SSH reaches none', [], undefined],
  ])('%s', async (_, answers, ip) => {
    expect(await named(...answers)).toBe(ip);
  });
});
