import { gunzipSync, gzipSync } from 'node:zlib';
import type { ConfigMap } from '#api/core.ts';
import type { OwnerReference } from '#api/meta.ts';
import { internalAnnotations, labels, logHeadName, logPackName, logPartName } from '#api/names.ts';
import type { JobCaller } from '../auth/job-caller.ts';

/**
 * An attempt's log in ConfigMaps. The *head* owns the others, and the controller watches it. *Parts* are written once, as
 * lines come. At the end *packs*, gzipped, replace the parts.
 */
const KEY = 'events';
const PACK_KEY = 'events.gz';

/** A part of an attempt's log. */
export interface LogPart {
  number: number;
  /** Offset of the part in the whole log, in bytes. */
  offset: number;
  text: string;
  /** Whether the log is full: no part follows. */
  isFull: boolean;
}

/**
 * Returns the end of the part in the whole log, in bytes. A full log ends with the server's notice, which no client
 * requests.
 */
export const endOf = ({ offset, text }: Pick<LogPart, 'offset' | 'text'>): number =>
  offset + Buffer.byteLength(text);

/** Returns the part that a ConfigMap holds. */
export const partOf = ({ metadata, data }: ConfigMap, number: number): LogPart => ({
  number,
  offset: Number(metadata.annotations?.[internalAnnotations.offset] ?? 0),
  text: data?.[KEY] ?? '',
  isFull: metadata.annotations?.[internalAnnotations.full] !== undefined,
});

/** Returns the head of an attempt's log. */
export const headOf = (
  { job, clusterId, sequence, attempt, cluster }: JobCaller,
  namespace: string,
  step: string | undefined,
): ConfigMap => ({
  metadata: {
    namespace,
    name: logHeadName(job),
    labels: {
      [labels.purpose]: 'log',
      [labels.clusterId]: clusterId,
      [labels.sequence]: String(sequence),
      [labels.attempt]: String(attempt),
      [labels.job]: job,
      [labels.clusterNamespace]: cluster.namespace,
    },
    annotations: {
      [internalAnnotations.cluster]: `${cluster.namespace}/${cluster.name}`,
      ...(step === undefined ? {} : { [internalAnnotations.step]: step }),
    },
  },
});

/** Returns the owner reference to the head: the garbage collector removes the whole log with it. */
export const ownedBy = (head: ConfigMap): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: head.metadata.name ?? '',
  uid: head.metadata.uid ?? '',
});

/** Returns the ConfigMap of a part, which is immutable. */
export const mapOf = (
  job: string,
  namespace: string,
  { number, offset, text, isFull }: LogPart,
  owner: OwnerReference,
): ConfigMap => ({
  metadata: {
    namespace,
    name: logPartName(job, number),
    labels: { [labels.purpose]: 'log-part', [labels.job]: job },
    annotations: {
      [internalAnnotations.offset]: String(offset),
      ...(isFull ? { [internalAnnotations.full]: 'true' } : {}),
    },
    ownerReferences: [owner],
  },
  immutable: true,
  data: { [KEY]: text },
});

/** Returns the ConfigMap of a pack. */
export const packOf = (
  job: string,
  namespace: string,
  number: number,
  text: string,
  owner: OwnerReference,
): ConfigMap => ({
  metadata: {
    namespace,
    name: logPackName(job, number),
    labels: { [labels.purpose]: 'log-part', [labels.job]: job },
    ownerReferences: [owner],
  },
  immutable: true,
  binaryData: { [PACK_KEY]: gzipSync(text).toString('base64') },
});

export const textOfPack = ({ binaryData }: ConfigMap): string =>
  gunzipSync(Buffer.from(binaryData?.[PACK_KEY] ?? '', 'base64')).toString('utf8');

/** Returns where the packs of a log begin, in bytes; empty if it is not packed. */
export const packsIn = (head: ConfigMap | undefined): number[] =>
  (head?.metadata.annotations?.[internalAnnotations.packed] ?? '')
    .split(',')
    .flatMap((text) => (text === '' ? [] : [Number(text)]));
