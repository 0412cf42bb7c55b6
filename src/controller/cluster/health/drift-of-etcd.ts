import { z } from 'zod';
import { driftIn } from './drift.ts';
import type { DriftSeen } from './judge/seen.ts';
import { MAX_CHARACTERS, reportedIn } from './reported.ts';

/**
 * The reports of hosts with external etcd. Such a host has no node, so it writes its report into etcd. Every control plane
 * copies these reports into an annotation of its node's lease (ansible/files/watch).
 */
export const DRIFT_OF_ETCD_ANNOTATION = 'ecs.yun.com/drift-of-etcd';
/** The report is repeated at each change, and each of those hosts reports every 10 minutes. */
const STALE_MS = 25 * 60_000;
/** The key of a host's report; the node name follows. */
const PREFIX = '/matryoshka/drift/';
const MAX_HOSTS = 20;
const coded = z.string().regex(/^[A-Za-z0-9+/]{1,2732}={0,2}$/);

const hostsSchema = z.object({
  at: z.iso.datetime(),
  hosts: z.array(z.tuple([coded, coded])).max(MAX_HOSTS),
});

/** Returns the recent reports by node name; undefined if there is none, or none that can be parsed. */
export function driftOfEtcdIn(
  annotation: unknown,
  now: Date | undefined,
): ReadonlyMap<string, DriftSeen> | undefined {
  const reported = reportedIn(annotation, hostsSchema, now, STALE_MS, MAX_HOSTS * 2 * MAX_CHARACTERS);
  return (
    reported && new Map(reported.hosts.flatMap(([key, value]) => entryOf(plain(key), plain(value), now)))
  );
}

function entryOf(key: string, value: string, now: Date | undefined): [string, DriftSeen][] {
  const drift = driftIn(value, now);
  return key.startsWith(PREFIX) && drift ? [[key.slice(PREFIX.length), drift]] : [];
}

const plain = (text: string) => Buffer.from(text, 'base64').toString('utf8');
