import type { Ingress } from '#api/networking.ts';
import type { Refusal } from '../routing/claims.ts';
import { secretFor } from '../routing/compile.ts';

/** Warning about an Ingress. */
export interface Notice {
  reason: Refusal['reason'] | 'CertificateMissing' | 'CertificateInvalid' | 'ClassMissing';
  message: string;
}

export const NO_CLASS: Notice = {
  reason: 'ClassMissing',
  message:
    'it names no IngressClass, and no IngressClass is the default, so it is not served; set spec.ingressClassName to "matryoshka", or annotate that IngressClass with ingressclass.kubernetes.io/is-default-class=true',
};

const INSTEAD = 'its hosts are shown another certificate of this namespace, else the proxy’s own';

/**
 * Lists each problem that keeps an Ingress from being served as asked, once. `secretNamed` gets Secrets of the Ingress's
 * namespace.
 */
export function problemsOf(
  ingress: Ingress,
  heldHosts: readonly string[],
  refusals: readonly Refusal[],
  secretNamed: (name: string) => { problem: string | undefined } | undefined,
): Notice[] {
  const named = heldHosts.map((host) => secretFor(ingress, host)).filter((name) => name !== undefined);
  const ofCertificates = [...new Set(named)].flatMap((name): Notice[] => {
    const secret = secretNamed(name);
    if (!secret)
      return [
        {
          reason: 'CertificateMissing',
          message: `there is no Secret "${name}" of type kubernetes.io/tls; ${INSTEAD}`,
        },
      ];
    if (secret.problem === undefined) return [];
    return [{ reason: 'CertificateInvalid', message: `Secret "${name}": ${secret.problem}; ${INSTEAD}` }];
  });
  const all = [...refusals.map(({ reason, message }) => ({ reason, message })), ...ofCertificates];
  return [...new Map(all.map((one) => [`${one.reason} ${one.message}`, one])).values()];
}
