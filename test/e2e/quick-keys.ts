/** Value of `kubeadm` for clusters whose tests do not depend on keys: RSA handshakes cost time on shared processors. */
export const QUICK_KEYS = { encryptionAlgorithm: 'ECDSA-P256' } as const;
