import { plainText } from '#base/plain-text.ts';
import { getOperationLog } from '#rest/history.ts';
import { getLogs } from '#rest/read-routes.ts';
import { clusterNamed } from './clusters.ts';
import type { Io } from './io.ts';
import { type ConnectionOptions, withSession } from './session.ts';

/** Prints the log of the operation that was requested last, or of a former one; with `isFollowed`, until it ends. */
export function printLogs(
  name: string,
  {
    isFollowed,
    operation,
    ...options
  }: ConnectionOptions & { isFollowed: boolean; operation?: string | undefined },
  io: Io,
): Promise<void> {
  return withSession(options, async (session) => {
    const { address } = await clusterNamed(session, name);
    const { params, query } = address;
    if (!isFollowed || operation !== undefined) {
      const { message } =
        operation === undefined
          ? await session.call(getLogs, address)
          : await session.call(getOperationLog, { params: { ...params, id: operation }, query });
      for (const line of message.trimEnd().split('\n')) io.print(plainText(line));
      return;
    }
    const path = `/region/${encodeURIComponent(params.region)}/cluster/${name}/logs?follow=true&namespace=${query.namespace}`;
    await session.lines(
      path,
      (line) => io.print(plainText(line)),
      io.signal,
      () => io.note('The server does not answer. The log continues when it does.'),
    );
  });
}
