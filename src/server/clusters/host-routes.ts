import { hostRecordsOf } from '#access/host-records.ts';
import { onClusters } from '#access/permissions.ts';
import { HOSTS, type HostRecord, stateOf } from '#api/host-record.ts';
import { type HostAnswer, listClusterHosts, listHosts } from '#rest/hosts.ts';
import type { PeopleRoutes } from '../auth/route-deps.ts';
import { serve } from '../http/serve.ts';
import { clusterIn } from './requests.ts';

function shownHost(record: HostRecord): HostAnswer {
  const { ip, cluster, name, duties } = record.spec;
  const { versions, lastRun } = record.status ?? {};
  const shown = { ip, cluster, name, duties, state: stateOf(record), ...(versions ? { versions } : {}) };
  if (!lastRun) return shown;
  const { operation, did, ok, message, at } = lastRun;
  return { ...shown, lastRun: { operation, did, ok, at, ...(message === undefined ? {} : { message }) } };
}

export const hostRoutes: PeopleRoutes = (app, { client, auth, namespace: own }) => {
  serve(app, listHosts, async ({ query: { limit, continue: from }, person }) => {
    await auth.allow(person, { verb: 'list', group: HOSTS.group, resource: HOSTS.plural, namespace: own });
    const page = await client.list<HostRecord>(HOSTS, { namespace: own, limit, continue: from });
    const { continue: next } = page.metadata;
    return { items: page.items.map(shownHost), ...(next ? { continue: next } : {}) };
  });

  serve(app, listClusterHosts, async ({ params: { region, name }, query: { namespace }, person }) => {
    await auth.allow(person, onClusters('get', namespace, name));
    const cluster = await clusterIn(client, region, { namespace, name });
    return { items: (await hostRecordsOf(client, own, cluster)).map(shownHost) };
  });
};
