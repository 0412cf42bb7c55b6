import { afterAll, beforeAll, describe } from 'vitest';
import {
  CONFIG_MAPS,
  type ConfigMap,
  JOBS,
  type Job,
  PODS,
  type Pod,
  SECRETS,
  type Secret,
  secretText,
} from '#api/core.ts';
import { internalAnnotations, labels } from '#api/names.ts';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { jobInstallerModule } from '#installer/job/module.ts';
import { everyInstaller } from '#installer/testing/installer-cases.ts';
import type { InstallerWorld } from '#installer/testing/installer-world.ts';
import { jobSettings } from '#installer/testing/job-settings.fixture.ts';
import { SERVICE_ACCOUNTS } from '#lab/apiserver/kinds.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import { quietHost } from '#runtime/testing/quiet-host.fixture.ts';
import { useNamespace } from '#runtime/testing/test-namespace.ts';
import { logStoreIn } from '#server/logs/log-store.ts';
import { type Ending, endJobs } from '../worlds/scripted-jobs.ts';

/** The installer of Jobs with the real Job controller, whose pods end when the test says so. */
const test = useNamespace('installer');
const stopping = new AbortController();
let world: InstallerWorld;
let ended: Promise<unknown>;

beforeAll(async () => {
  const { client, namespace } = test;
  await client.create(SERVICE_ACCOUNTS, { metadata: { namespace, name: 'runner' } });
  const of = { client, clock: systemClock, log: createLogger('silent') };
  const host = quietHost({ client, namespace });
  const { caches, over } = jobInstallerModule(host, jobSettings(namespace));
  const pods = createInformer<Pod>({ ...of, resource: PODS, selection: { namespace } });
  const endings = new Map<string, PromiseWithResolvers<Ending>>();
  const endingOf = (job: string) => {
    const ending = endings.get(job) ?? Promise.withResolvers<Ending>();
    endings.set(job, ending);
    return ending;
  };
  const { started } = endJobs(client, pods, (job) => endingOf(job).promise);
  const watched = [...caches, pods];
  ended = Promise.all(watched.map((cache) => cache.run(stopping.signal)));
  await Promise.all(watched.map((cache) => cache.whenSynced()));
  const logs = logStoreIn(client, namespace, systemClock);

  world = {
    installer: over(client),
    begun: () => started,
    atWork: async () =>
      pods
        .list()
        .filter(({ status }) => !['Succeeded', 'Failed'].includes(status?.phase ?? ''))
        .map(({ metadata }) => metadata.labels?.['batch.kubernetes.io/job-name'] ?? ''),
    async tell(job, step) {
      const { metadata } = await client.get<Job>(JOBS, test.key(job));
      const [of = '', name = ''] = metadata.annotations?.[internalAnnotations.cluster]?.split('/') ?? [];
      const caller = {
        job,
        clusterId: metadata.labels?.[labels.clusterId] ?? '',
        sequence: Number(metadata.labels?.[labels.sequence]),
        attempt: 1,
        isAuxiliary: metadata.labels?.[labels.auxiliary] !== undefined,
        cluster: { namespace: of, name },
        ended: false,
      };
      await logs.append(caller, 0, Buffer.from('{}\n'), step);
    },
    async end(job, ending) {
      endingOf(job).resolve(ending === 'lost' ? { kind: 'lost' } : { kind: 'report', ...ending });
    },
    async deleteByHand(job) {
      const { metadata } = await client.get<Job>(JOBS, test.key(job));
      await client.delete(JOBS, test.key(job), { propagationPolicy: 'Background' });
      const cache = caches.find(({ resource }) => resource === JOBS);
      await new Promise<void>((resolve) => cache?.onGone(test.key(job), metadata.uid ?? '', resolve));
    },
    async keeps(text) {
      const secrets = (await client.list<Secret>(SECRETS, { namespace })).items;
      const maps = (await client.list<ConfigMap>(CONFIG_MAPS, { namespace })).items;
      const texts = secrets.flatMap((secret) =>
        Object.keys(secret.data ?? {}).map((key) => secretText(secret, key) ?? ''),
      );
      return [...texts, JSON.stringify(maps)].some((kept) => kept.includes(text));
    },
    async logs() {
      const labelSelector = `${labels.purpose}=log`;
      const { items } = await client.list<ConfigMap>(CONFIG_MAPS, { namespace, labelSelector });
      return items.map(({ metadata }) => metadata.labels?.[labels.job] ?? '');
    },
  };
});
afterAll(async () => {
  stopping.abort(new Error('stop'));
  await ended;
});

describe('the installer of Jobs', () => {
  everyInstaller(() => world);
});
