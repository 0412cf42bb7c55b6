/** `kubeadm` of clusters in which nothing is about keys: each handshake by RSA takes time from what is, on processors that are shared. */
export const QUICK_KEYS = { encryptionAlgorithm: 'ECDSA-P256' } as const;
