import type { Kubeadm } from '#api/kubeadm.ts';
import { canonicalJson, shortHash } from '#base/canonical.ts';

/** Variables of the playbooks that `spec.cluster.kubeadm` sets (ansible/README.md). */
export function kubeadmVars(kubeadm: Kubeadm | undefined): Record<string, unknown> {
  if (!kubeadm) return {};
  const { certSANs, kubelet, encryptionAtRest, registryMirrors, proxy } = kubeadm;
  return {
    ...(certSANs ? { cert_sans: certSANs } : {}),
    ...(kubelet ? { kubelet_config: kubelet } : {}),
    ...(proxy ? { proxy: { http: proxy.httpProxy, https: proxy.httpsProxy, no: proxy.noProxy } } : {}),
    ...(registryMirrors ? { registry_mirrors: registryMirrors } : {}),
    ...(encryptionAtRest ? { encryption_at_rest: true } : {}),
    // Of what the first control plane cannot change once it is there.
    made_with: shortHash(canonicalJson({ certSANs, kubelet, encryptionAtRest }), 16),
  };
}
