import { docker } from '#lab/hosts/docker.ts';
import type { LabHost } from '#lab/hosts/places.ts';

/** What a slow etcd does to a join: the answer to a promotion is lost, or the list of members comes too late. */
const ENDS = {
  unheard: `/usr/local/bin/kubeadm "$@" --skip-phases=kubelet-wait-bootstrap,control-plane-join,wait-control-plane || exit
    why='etcdserver: can only promote a learner member'`,
  unlisted: `/usr/local/bin/kubeadm "$@" & joining=$!
    until [ -e /etc/kubernetes/manifests/etcd.yaml ]; do kill -0 $joining || exit; sleep 0.05; done
    kill -9 $joining
    why='error creating local etcd static pod manifest file: context deadline exceeded'`,
};
const kubeadm = (end: keyof typeof ENDS): string => `#!/bin/bash
case "$1 $*" in
  'join '*--skip-phases=*) ;;
  'join '*)
    ${ENDS[end]}
    echo yes > /run/unheard
    echo "error: error execution phase etcd-join: $why" >&2
    exit 1 ;;
esac
exec /usr/local/bin/kubeadm "$@"
`;
const PATH = '/usr/local/sbin/kubeadm';

/** While `work` lasts, joins of the host end so in kubeadm's phase of etcd; answers whether it came to that. */
export async function joinEnds(
  { name }: LabHost,
  end: keyof typeof ENDS,
  work: () => Promise<unknown>,
): Promise<boolean> {
  const on = (script: string) => docker(['exec', name, 'bash', '-c', script]);
  await on(`rm -f /run/unheard; cat > ${PATH} <<'END'\n${kubeadm(end)}END\nchmod 755 ${PATH}`);
  try {
    await work();
  } finally {
    await on(`rm -f ${PATH}`);
  }
  return (await on('cat /run/unheard 2>/dev/null; rm -f /run/unheard')) === 'yes';
}
