import { cancelOperation, pauseCluster, resumeCluster } from '#rest/steering.ts';
import { clusterNamed } from './clusters.ts';
import type { Io } from './io.ts';
import { type ConnectionOptions, withSession } from './session.ts';

/** Stops new operations of a cluster from starting, or lets them start again. */
export function setPaused(
  name: string,
  isPaused: boolean,
  options: ConnectionOptions,
  io: Io,
): Promise<void> {
  return withSession(options, async (session) => {
    const { address } = await clusterNamed(session, name);
    await session.call(isPaused ? pauseCluster : resumeCluster, { ...address, body: {} });
    io.print(`cluster ${name}: ${isPaused ? 'paused; a running operation goes on' : 'resumed'}`);
  });
}

/** Cancels the running operation. */
export function cancel(
  name: string,
  id: string | undefined,
  options: ConnectionOptions,
  io: Io,
): Promise<void> {
  return withSession(options, async (session) => {
    const { address } = await clusterNamed(session, name);
    const body = id === undefined ? {} : { id };
    const { operation } = await session.call(cancelOperation, { ...address, body });
    io.print(`cluster ${name}: ${operation.name} (${operation.id}) stops; its step is "${operation.step}"`);
  });
}
