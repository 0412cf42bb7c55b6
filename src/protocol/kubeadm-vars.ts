import type { Audit } from '#api/audit.ts';
import type { Kubeadm } from '#api/kubeadm.ts';
import { canonicalJson, shortHash } from '#base/canonical.ts';

/** Variables of the playbooks that `spec.cluster.kubeadm` sets (ansible/README.md). */
export function kubeadmVars(kubeadm: Kubeadm | undefined): Record<string, unknown> {
  if (!kubeadm) return {};
  const { certSANs, kubelet, encryptionAtRest, registryMirrors, proxy, audit } = kubeadm;
  return {
    ...(certSANs ? { cert_sans: certSANs } : {}),
    ...(kubelet ? { kubelet_config: kubelet } : {}),
    ...(proxy ? { proxy: { http: proxy.httpProxy, https: proxy.httpsProxy, no: proxy.noProxy } } : {}),
    ...(registryMirrors ? { registry_mirrors: registryMirrors } : {}),
    ...(audit ? auditVars(audit) : {}),
    ...(encryptionAtRest ? { encryption_at_rest: true } : {}),
    // Of what the first control plane cannot change once it is there.
    made_with: shortHash(canonicalJson({ certSANs, kubelet, encryptionAtRest, audit }), 16),
  };
}

const auditVars = ({ policy, maxAgeDays = 30, maxBackups = 10, maxSizeMB = 100 }: Audit) => ({
  audit_policy: { ...policy, apiVersion: 'audit.k8s.io/v1', kind: 'Policy' },
  audit_log: { maxage: maxAgeDays, maxbackup: maxBackups, maxsize: maxSizeMB },
});
