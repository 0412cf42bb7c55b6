import { docker } from '#lab/hosts/docker.ts';
import type { LabHost } from '#lab/hosts/places.ts';

/** A kubeadm whose join ends once the new member of etcd votes, as where the answer to its promotion was lost. */
const KUBEADM = `#!/bin/bash
case "$1 $*" in
  'join '*--skip-phases=*) ;;
  'join '*)
    /usr/local/bin/kubeadm "$@" --skip-phases=kubelet-wait-bootstrap,control-plane-join,wait-control-plane || exit
    echo yes > /run/unheard
    echo 'error: error execution phase etcd-join: etcdserver: can only promote a learner member' >&2
    exit 1 ;;
esac
exec /usr/local/bin/kubeadm "$@"
`;
const PATH = '/usr/local/sbin/kubeadm';

/** While `work` lasts, kubeadm on the host does not hear that its member votes; answers whether it came to that. */
export async function unheard({ name }: LabHost, work: () => Promise<unknown>): Promise<boolean> {
  const on = (script: string) => docker(['exec', name, 'bash', '-c', script]);
  await on(`cat > ${PATH} <<'END'\n${KUBEADM}END\nchmod 755 ${PATH}`);
  try {
    await work();
  } finally {
    await on(`rm -f ${PATH}`);
  }
  return (await on('cat /run/unheard 2>/dev/null; rm -f /run/unheard')) === 'yes';
}
