const LEAVES = [
  'apiserver',
  'apiserver-kubelet-client',
  'front-proxy-client',
  'apiserver-etcd-client',
].flatMap((name) => [`pki/${name}.crt`, `pki/${name}.key`]);

/** Files below /etc/kubernetes that a renewal replaces on a control plane with external etcd. */
export const RENEWED = [...LEAVES, 'admin.conf', 'controller-manager.conf', 'scheduler.conf'];
