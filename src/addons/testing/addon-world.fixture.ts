import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, vi } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { EVENTS, type Event } from '#api/core.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { type Clock, systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { createRecorder } from '#runtime/events/recorder.ts';
import { createManager } from '#runtime/process/manager.ts';
import { quietHost } from '#runtime/testing/quiet-host.fixture.ts';
import { type TestNamespace, useNamespace } from '#runtime/testing/test-namespace.ts';
import { resourcePath } from '#runtime/wire/resource-path.ts';
import type { Addon } from '../addon.ts';
import { installationOf, namespaceOf } from '../installation.ts';
import { seeing, within } from './seeing.fixture.ts';

const EXAMPLES = join(import.meta.dirname, '../../../deploy/addons/examples');
const PLURALS: Readonly<Record<string, string>> = {
  IngressClass: 'ingressclasses',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
};
const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().exactOptional() }),
});
const established = z.object({
  status: z.object({
    conditions: z
      .array(z.object({ type: z.string(), status: z.string() }))
      .refine((list) => list.some(({ type, status }) => type === 'Established' && status === 'True')),
  }),
});
const tokenAnswer = z.object({ status: z.object({ token: z.string() }) });

const resourceOf = ({ apiVersion = '', kind = '', metadata }: KubeObject): Resource => {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`;
  return { group, version, kind, plural, namespaced: metadata.namespace !== undefined };
};

export interface AddonWorld extends TestNamespace {
  /** Returns the Events in the namespace, as `Warning Reason: message`. */
  reported(): Promise<string[]>;
  /** Creates the example of the documentation in the namespace without changes; returns its name. */
  makeExample(): Promise<string>;
  /** Returns a client with the rights of an account of the installation; the caller closes it. */
  clientAs(account: string): Promise<Client>;
}

/**
 * Runs an add-on on the run's API server, with exactly the rights of its installation; call it at the top of a test file of
 * the `api` project. `clock` is the clock of its controllers; `observed` wraps their client. They see only the namespace of
 * the test, unless `everywhere`; `kubeconfigPath` is that of the file's own API server.
 */
export function useAddon(
  addon: Addon,
  clock: Clock = systemClock,
  observed: (client: Client) => Client = (client) => client,
  { everywhere = false, kubeconfigPath }: { everywhere?: boolean; kubeconfigPath?: () => string } = {},
): AddonWorld {
  const test = useNamespace(addon.name, kubeconfigPath);
  const ending = new AbortController();
  let end: (() => Promise<void>) | undefined;

  async function clientAs(account: string): Promise<Client> {
    const path = `/api/v1/namespaces/${namespaceOf(addon)}/serviceaccounts/${account}/token`;
    const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const { token } = tokenAnswer.parse(await test.client.request('POST', path, asked)).status;
    const headers = () => ({ authorization: `Bearer ${token}` });
    const { endpoint } = test;
    return createClient({ ...endpoint, tls: () => endpoint.tls(), headers }, { userAgent: account });
  }

  beforeAll(async () => {
    for (const object of installationOf(addon).map((one) => objectSchema.parse(one))) {
      if (object.kind === 'Deployment') continue;
      const resource = resourceOf(object);
      await test.client.apply(resource, object, { fieldManager: 'test', force: true });
      if (object.kind !== 'CustomResourceDefinition') continue;
      const { name } = object.metadata;
      await vi.waitFor(
        async () => established.parse(await test.client.get(resource, { namespace: '', name })),
        20_000,
      );
    }
    const account = namespaceOf(addon);
    const client = observed(await clientAs(account));
    const log = createLogger('silent');
    const recorder = createRecorder({ client, component: account, log });
    const host = quietHost({ client, clock, namespace: account, recorder, workers: 4 });
    const module = everywhere ? addon.module : seeing(addon.module, within(test.namespace));
    const controllers = module(host);
    const ended = createManager({ caches: host.informers, controllers, recorder, log }).run(ending.signal);
    end = async () => {
      ending.abort(new Error('stop'));
      await ended;
      await client.close();
    };
  });
  afterAll(() => end?.());

  return Object.assign(test, {
    clientAs,
    async makeExample() {
      const example = objectSchema.parse(parse(readFileSync(join(EXAMPLES, `${addon.name}.yaml`), 'utf8')));
      const metadata = { ...example.metadata, namespace: test.namespace };
      const path = resourcePath(resourceOf({ ...example, metadata }), { namespace: test.namespace });
      // The API server refuses unknown fields, as with kubectl.
      const query = { fieldValidation: 'Strict' };
      await test.client.request('POST', path, { ...example, metadata }, { query });
      return metadata.name;
    },
    async reported() {
      const { items } = await test.client.list<Event & { type?: string }>(EVENTS, {
        namespace: test.namespace,
      });
      return items.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
    },
  });
}
