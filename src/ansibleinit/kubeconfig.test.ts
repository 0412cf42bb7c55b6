import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { forClients } from './kubeconfig.ts';

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

it('gives clients outside the address behind the endpoint’s name, under names that carry the cluster', () => {
  const config = parse(forClients(adminConfig(certificate), 'fd00::1', cluster));
  expect(config).toMatchObject({
    clusters: [{ name: 'demo.default', cluster: { server: 'https://[fd00::1]:6443' } }],
    users: [{ name: 'demo.default-admin' }],
    contexts: [{ name: 'demo.default', context: { cluster: 'demo.default', user: 'demo.default-admin' } }],
    'current-context': 'demo.default',
  });
});

it('takes over no field that a host could have planted', () => {
  const planted = `{client-certificate-data: ${data}, client-key-data: ${data}, exec: {command: /bin/sh}}`;
  expect(forClients(adminConfig(planted), '10.0.0.1', cluster)).not.toContain('exec');
  expect(() => forClients(adminConfig('{exec: {command: /bin/sh}}'), '10.0.0.1', cluster)).toThrow();
});
