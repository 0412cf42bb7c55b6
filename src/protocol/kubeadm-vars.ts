import type { Audit } from '#api/audit.ts';
import type { Kubeadm } from '#api/kubeadm.ts';
import { PATCH_TYPES, type Patch } from '#api/patches.ts';
import { canonicalJson, shortHash } from '#base/canonical.ts';

/** Returns the playbook variables of `spec.cluster.kubeadm` (ansible/README.md). */
export function kubeadmVars(kubeadm: Kubeadm | undefined): Record<string, unknown> {
  if (!kubeadm) return {};
  const { certSANs, kubelet, encryptionAlgorithm, encryptionAtRest, registryMirrors, proxy, audit, patches } =
    kubeadm;
  return {
    ...(certSANs ? { cert_sans: certSANs } : {}),
    ...(kubelet ? { kubelet_config: kubelet } : {}),
    ...(proxy ? { proxy: { http: proxy.httpProxy, https: proxy.httpsProxy, no: proxy.noProxy } } : {}),
    ...(registryMirrors ? { registry_mirrors: registryMirrors } : {}),
    ...(audit ? auditVars(audit) : {}),
    ...(patches ? { kubeadm_patches: Object.fromEntries(patches.map(patchFile)) } : {}),
    ...(encryptionAlgorithm ? { encryption_algorithm: encryptionAlgorithm } : {}),
    ...(encryptionAtRest ? { encryption_at_rest: true } : {}),
    // The hash of the fields that cannot change once the first control plane exists.
    made_with: shortHash(
      canonicalJson({ certSANs, kubelet, encryptionAlgorithm, encryptionAtRest, audit, patches }),
      16,
    ),
  };
}

/**
 * Returns a patch file with the name that kubeadm expects: target, place in the order, type (kubeadm API v1beta4, Patches).
 */
function patchFile(patch: Patch, index: number): [name: string, content: unknown] {
  const type = PATCH_TYPES.find((one) => patch[one] !== undefined) ?? 'strategic';
  return [`${patch.target}${String(index).padStart(2, '0')}+${type}.json`, patch[type]];
}

const auditVars = ({ policy, maxAgeDays = 30, maxBackups = 10, maxSizeMB = 100 }: Audit) => ({
  audit_policy: { ...policy, apiVersion: 'audit.k8s.io/v1', kind: 'Policy' },
  audit_log: { maxage: maxAgeDays, maxbackup: maxBackups, maxsize: maxSizeMB },
});
