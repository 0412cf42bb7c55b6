import { z } from 'zod';
import { messageOf } from '#base/errors.ts';
import { operations } from '#operations/index.ts';
import { reportSchema } from '#protocol/report.ts';
import { addressed, clusterPath, namespaceQuery } from '#rest/addressing.ts';
import { ok } from '#rest/answers.ts';
import type { JobApp } from '../auth/route-deps.ts';
import { addressOf } from '../http/address.ts';
import { conflict, forbidden } from '../http/errors.ts';
import type { JobLogDeps } from '../logs/job-log-routes.ts';
import { compareReport, keepReport } from './reports.ts';

const address = z
  .array(z.object({ ip: z.string().max(45) }))
  .max(1000)
  .optional();

const callbackBody = z
  .object({
    ...addressed,
    masterList: address,
    nodeList: address,
    etcdList: address,
    ...reportSchema.shape,
  })
  .meta({ id: 'Report' });

/** The callback routes, and the first part of the names of the Jobs that report there. */
const CALLBACKS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(operations.map(({ callback, prefix }) => [callback, prefix])),
  fetch: 'fetch',
  precheck: 'precheck',
};

/** Accepts reports of Jobs. A report is stored and nothing else is done: the controller judges it after the Job's end. */
export const callbackRoutes = (
  app: JobApp,
  { client, reportsNamespace, callers, logs, log }: JobLogDeps,
): void => {
  for (const [path, prefix] of Object.entries(CALLBACKS)) {
    app.post(
      `/region/:region/cluster/:name/${path}/callback`,
      {
        schema: {
          params: clusterPath,
          querystring: namespaceQuery,
          body: callbackBody,
        },
      },
      async ({ params, query, body, headers }, reply) => {
        const caller = await callers.callerOf(headers.authorization);
        const target = addressOf({ params, query, body });
        const { cluster, job } = caller;
        const own = cluster.namespace === target.namespace && cluster.name === target.name;
        if (!own || !job.startsWith(`${prefix}-`))
          throw forbidden('the token does not belong to the pod of a running attempt of this cluster');
        const report = reportSchema.parse(body);
        // A repeat of the stored report always succeeds, whatever happened meanwhile; only a new report must be in time.
        const known = await compareReport(client, reportsNamespace, caller, report);
        if (known === undefined && (caller.ended || (await callers.isSuperseded(caller))))
          throw conflict(`Job "${job}" has ended; its report comes too late`);
        const kept = known ?? (await keepReport(client, reportsNamespace, caller, report));
        if (kept === 'different') throw conflict(`Job "${job}" has sent a different report before`);
        // A Job logs nothing after its report. A failure here costs space in etcd and nothing else.
        logs
          .pack(caller)
          .catch((error: unknown) => log.warn({ job, error: messageOf(error) }, 'the log is not packed'));
        return reply.send(ok());
      },
    );
  }
};
