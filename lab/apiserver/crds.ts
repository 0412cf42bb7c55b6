import { parse } from 'yaml';
import { HOSTS } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { sleep } from '#base/clock.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAlreadyExists, isNotFound } from '#runtime/wire/api-error.ts';
import { crdFiles } from '../../src/crds.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from './kinds.ts';

const TRIES = 200;
const POLL_MS = 25;

/** Installs our kinds if they are missing, and waits until the API server serves each. */
export async function installCrds(client: Client): Promise<void> {
  for (const text of Object.values(crdFiles)) {
    try {
      await client.create(CUSTOM_RESOURCE_DEFINITIONS, parse(text));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
  // The API server serves a kind a moment after it accepts the definition, and does not report when.
  for (const resource of [KUBERNETES_CLUSTERS, HOSTS]) {
    for (let tries = 1; ; tries += 1) {
      try {
        await client.list(resource, { limit: 1 });
        break;
      } catch (error) {
        if (!isNotFound(error) || tries >= TRIES) throw error;
        await sleep(POLL_MS);
      }
    }
  }
}
