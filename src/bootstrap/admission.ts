import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { type Clock, sleep, systemClock } from '#base/clock.ts';
import type { Client } from '#runtime/client/client.ts';
import { isApiError } from '#runtime/wire/api-error.ts';

const BOUND_MS = 60_000;
const CHECK_MS = 250;

/** Cluster that is created as a dry run only. Its address is from RFC 5737, for documentation. */
const PROBE: KubernetesCluster = {
  metadata: { namespace: 'default', name: 'asked-at-installation' },
  spec: { cluster: { masterList: [{ ip: '192.0.2.1' }] } },
};

/**
 * Waits until the API server calls our webhook for clusters. The API server loads a new configuration after a moment, and a
 * pod is ready a moment before its node's packet rules point at it. Until then every creation of a cluster would fail. Any
 * refusal proves that the webhook answers. Throws after a minute, with the API server's last message. Source:
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
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

/** Returns the reason why the API server did not call the webhook; undefined if it did. */
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
