import { z } from 'zod';
import type { Pair } from './certificates.ts';
import type { Counts } from './counts.ts';
import type { PlaneUpdate } from './data-plane.ts';
import type { Limits } from './limits.ts';

/** What a process that serves is begun with. */
export interface WorkerStart {
  host: string | undefined;
  httpPort: number;
  httpsPort: number;
  limits: Limits;
  trustedProxies: readonly string[];
  accessLog: boolean;
  own: Pair;
  /** Undefined while nothing is known. */
  update: PlaneUpdate | undefined;
}

const object = <T>() => z.custom<T>((value) => typeof value === 'object' && value !== null);

/** To a process that serves, and from it; both are this program. */
export const toWorker = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), start: object<WorkerStart>() }),
  z.object({ type: z.literal('update'), update: object<PlaneUpdate>() }),
  z.object({ type: z.literal('shed') }),
  z.object({ type: z.literal('close'), withinMs: z.number() }),
]);
export const fromWorker = z.discriminatedUnion('type', [
  z.object({ type: z.literal('hello') }),
  z.object({ type: z.literal('listening'), httpPort: z.number(), httpsPort: z.number() }),
  z.object({ type: z.literal('failed'), error: z.string() }),
  z.object({ type: z.literal('counts'), counts: object<Counts>() }),
  z.object({ type: z.literal('closed') }),
]);
export type ToWorker = z.infer<typeof toWorker>;
export type FromWorker = z.infer<typeof fromWorker>;
