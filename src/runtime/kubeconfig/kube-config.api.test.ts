import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, inject, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { createAuthority } from '#lab/apiserver/certificates.ts';
import { createInformer } from '../cache/informer.ts';
import { createClient } from '../client/client.ts';
import { CONFIG_MAPS, useNamespace } from '../testing/test-namespace.ts';
import { loadEndpoint } from './kube-config.ts';

const test = useNamespace('kube-config');
const directory = mkdtempSync(join(tmpdir(), 'kube-config-api-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** Fields of the run's own kubeconfig that the tests corrupt. */
const Config = z.looseObject({
  clusters: z.tuple([z.looseObject({ name: z.string(), cluster: z.looseObject({ server: z.string() }) })]),
  users: z.tuple([z.looseObject({ name: z.string(), user: z.looseObject({}) })]),
});
type Config = z.infer<typeof Config>;
const authority = await createAuthority();

/** Valid-looking parts that only the server can refuse: the change, and the expected message. */
const parts: [string, (config: Config) => void, RegExp][] = [
  [
    'an authority that signed another server',
    ({ clusters: [{ cluster }] }) => {
      cluster['certificate-authority-data'] = Buffer.from(authority.pem).toString('base64');
    },
    /it was checked with kubeconfig \S+: cluster '\S+': certificate-authority$/,
  ],
  [
    'no authority at all',
    ({ clusters: [{ cluster }] }) => {
      delete cluster['certificate-authority-data'];
      delete cluster['certificate-authority'];
    },
    /it was checked with kubeconfig \S+: cluster '\S+': certificate-authority$/,
  ],
  [
    'a token that nobody gave',
    ({ users: [{ user }] }) => {
      user['token'] = 'guessed';
    },
    /refused are the credentials of kubeconfig \S+: user '\S+': token$/,
  ],
  [
    'a user without credentials',
    ({ users: [one] }) => {
      one.user = {};
    },
    /refused are the credentials of kubeconfig \S+: user '\S+': no credentials$/,
  ],
  [
    'a plugin whose token is refused',
    ({ users: [one] }) => {
      const credential = { apiVersion: 'client.authentication.k8s.io/v1', status: { token: 'guessed' } };
      one.user = { exec: { command: 'echo', args: [JSON.stringify(credential)] } };
    },
    /refused are the credentials of kubeconfig \S+: user '\S+': the credential plugin echo$/,
  ],
  [
    'a port at which nobody listens',
    ({ clusters: [{ cluster }] }) => {
      cluster.server = 'https://127.0.0.1:1';
    },
    /ECONNREFUSED 127.0.0.1:1; the address is of kubeconfig \S+: cluster '\S+': server https:\/\/127.0.0.1:1$/,
  ],
];

it.each(parts)('%s is reported in one line, by calls and by watches', async (_what, spoil, says) => {
  const config = Config.parse(parse(readFileSync(inject('kubeconfigPath'), 'utf8')));
  spoil(config);
  const kubeconfig = join(directory, 'config');
  writeFileSync(kubeconfig, stringify(config));
  const client = createClient(await loadEndpoint({ kubeconfig }), { userAgent: 'test' });
  const { namespace } = test;
  const error = await client.list(CONFIG_MAPS, { namespace }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ name: 'ApiError', message: expect.stringMatching(says) });
  expect(String(error)).not.toContain('\n');

  const failed = Promise.withResolvers<string>();
  const log = {
    ...silent,
    warn: ({ error: message }: Record<string, unknown>) => failed.resolve(String(message)),
    child: () => log,
  };
  const stop = new AbortController();
  const informer = createInformer({ client, resource: CONFIG_MAPS, selection: { namespace }, log });
  const running = informer.run(stop.signal);
  expect(await failed.promise).toMatch(says);
  expect(informer.failure()).toMatch(says);
  stop.abort(new Error('over'));
  await running;
  await client.close();
});

const silent = { debug() {}, info() {}, warn() {}, error() {} };
