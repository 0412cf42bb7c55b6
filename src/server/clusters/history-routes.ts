import { onClusters } from '#access/permissions.ts';
import { getOperation, listOperations } from '#rest/history.ts';
import type { PeopleRoutes } from '../auth/route-deps.ts';
import { notFound } from '../http/errors.ts';
import { serve } from '../http/serve.ts';
import { findOperation, operationOf, recordedOperations } from './operation-records.ts';
import { clusterIn } from './requests.ts';

export const historyRoutes: PeopleRoutes = (app, { client, auth }) => {
  serve(app, listOperations, async ({ params: { region, name }, query: { namespace }, person }) => {
    await auth.allow(person, onClusters('get', namespace, name));
    const cluster = await clusterIn(client, region, { namespace, name });
    const operations = await recordedOperations(client, cluster);
    return { items: operations.map(({ plan: _plan, hosts: _hosts, difference: _lines, ...one }) => one) };
  });

  serve(app, getOperation, async ({ params: { region, name, id }, query: { namespace }, person }) => {
    await auth.allow(person, onClusters('get', namespace, name));
    const cluster = await clusterIn(client, region, { namespace, name });
    const operation = (await findOperation(client, cluster, id)) ?? operationOf(cluster, id);
    if (!operation) throw notFound(`cluster "${name}" has no record of operation "${id}"`);
    return operation;
  });
};
