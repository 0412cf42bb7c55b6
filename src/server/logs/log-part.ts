import type { ConfigMap } from '#api/core.ts';
import { labels, logConfigMapName, marks } from '#api/names.ts';
import type { JobCaller } from '../auth/job-caller.ts';

const KEY = 'events';

/** One part of an attempt's log. */
export interface LogPart {
  number: number;
  /** Where it begins in the whole, in bytes. */
  offset: number;
  text: string;
  /** Why nothing more comes into it: the next part goes on, or the log is full. */
  closed: 'continued' | 'full' | undefined;
}

/** The end of the part in the whole log, in bytes. A full log has text of ours at its end, which nobody asks for. */
export const endOf = ({ offset, text }: LogPart): number => offset + Buffer.byteLength(text);

/** The part that a ConfigMap holds. */
export function partOf({ metadata, data }: ConfigMap, number: number): LogPart {
  const closed = metadata.annotations?.[marks.closed];
  return {
    number,
    offset: Number(metadata.annotations?.[marks.offset] ?? 0),
    text: data?.[KEY] ?? '',
    closed: closed === 'continued' || closed === 'full' ? closed : undefined,
  };
}

/** The ConfigMap that holds a part; `before` is what it was, whose resourceVersion guards the write. */
export function mapOf(
  { job, clusterId, sequence, attempt, cluster }: JobCaller,
  namespace: string,
  { number, offset, text, closed }: LogPart,
  step: string | undefined,
  before: ConfigMap | undefined,
): ConfigMap {
  return {
    metadata: {
      ...before?.metadata,
      namespace,
      name: logConfigMapName(job, number),
      labels: {
        ...before?.metadata.labels,
        [labels.purpose]: 'log',
        [labels.clusterId]: clusterId,
        [labels.sequence]: String(sequence),
        [labels.attempt]: String(attempt),
        [labels.job]: job,
      },
      annotations: {
        ...before?.metadata.annotations,
        [marks.cluster]: `${cluster.namespace}/${cluster.name}`,
        [marks.offset]: String(offset),
        ...(closed === undefined ? {} : { [marks.closed]: closed }),
        ...(step !== undefined && number === 0 ? { [marks.step]: step } : {}),
      },
    },
    data: { [KEY]: text },
  };
}
