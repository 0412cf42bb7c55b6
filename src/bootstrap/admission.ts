import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { type Clock, sleep, systemClock } from '#base/clock.ts';
import type { Client } from '#runtime/client/client.ts';
import { isApiError } from '#runtime/wire/api-error.ts';

const BOUND_MS = 60_000;
const CHECK_MS = 250;

/** Never kept: it is created as a dry run. The address is of RFC 5737, for documentation. */
const PROBE: KubernetesCluster = {
  metadata: { namespace: 'default', name: 'asked-at-installation' },
  spec: { cluster: { masterList: [{ ip: '192.0.2.1' }] } },
};

/**
 * Awaits that the API server asks our webhook about clusters: it takes up a new configuration after a moment, and a
 * pod is ready a moment before the rules of its node lead there. Until then nobody could create a cluster.
 * A refusal, whoever's it is, says that whom it asks answers. Throws after a minute, with what the API server said last.
 * Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
 */
export async function admissionAnswers(
  client: Pick<Client, 'create'>,
  clock: Clock = systemClock,
): Promise<void> {
  const until = clock.monotonicMs() + BOUND_MS;
  for (;;) {
    const said = await saidOf(client);
    if (said === undefined) return;
    if (clock.monotonicMs() > until)
      throw new Error(
        `the webhook of KubernetesClusters does not answer within ${BOUND_MS / 1_000} s (${said}); check the pods of matryoshka-webhook`,
      );
    await sleep(CHECK_MS, undefined, clock);
  }
}

/** Why the webhook was not asked, or undefined where it was. */
async function saidOf(client: Pick<Client, 'create'>): Promise<string | undefined> {
  try {
    const { metadata } = await client.create(KUBERNETES_CLUSTERS, PROBE, { dryRun: true });
    return metadata.annotations?.[annotations.requestedBy] === undefined
      ? 'the API server does not ask it yet'
      : undefined;
  } catch (error) {
    if (isApiError(error, 'Invalid', 'Forbidden', 'BadRequest', 'AlreadyExists')) return undefined;
    if (isApiError(error)) return error.message;
    throw error;
  }
}
