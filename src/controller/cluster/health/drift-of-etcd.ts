import { z } from 'zod';
import { driftIn } from './drift.ts';
import type { DriftSeen } from './judge/seen.ts';
import { MAX_CHARACTERS, toldIn } from './reported.ts';

/**
 * What hosts of etcd alone tell of themselves: they have no node, so each writes it into etcd, and every control plane passes
 * it on in an annotation of its node's lease (ansible/files/watch).
 */
export const DRIFT_OF_ETCD_ANNOTATION = 'ecs.yun.com/drift-of-etcd';
/** It is told again at each change, and each of those hosts tells anew every 10 minutes. */
const STALE_MS = 25 * 60_000;
/** Where a host writes, behind which stands its node name. */
const PREFIX = '/matryoshka/drift/';
const MAX_HOSTS = 20;
const coded = z.string().regex(/^[A-Za-z0-9+/]{1,2732}={0,2}$/);

const hostsSchema = z.object({
  at: z.iso.datetime(),
  hosts: z.array(z.tuple([coded, coded])).max(MAX_HOSTS),
});

/** By their node names, what such hosts told lately; undefined: nothing, or nothing that can be understood. */
export function driftOfEtcdIn(
  annotation: unknown,
  now: Date | undefined,
): ReadonlyMap<string, DriftSeen> | undefined {
  const told = toldIn(annotation, hostsSchema, now, STALE_MS, MAX_HOSTS * 2 * MAX_CHARACTERS);
  return told && new Map(told.hosts.flatMap(([key, value]) => entryOf(plain(key), plain(value), now)));
}

function entryOf(key: string, value: string, now: Date | undefined): [string, DriftSeen][] {
  const drift = driftIn(value, now);
  return key.startsWith(PREFIX) && drift ? [[key.slice(PREFIX.length), drift]] : [];
}

const plain = (text: string) => Buffer.from(text, 'base64').toString('utf8');
