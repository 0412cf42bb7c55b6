import { docker } from '#lab/hosts/docker.ts';
import type { LabHost } from '#lab/hosts/places.ts';

/** Effects of a slow etcd on a join: the response to a promotion is lost, or the member list comes too late. */
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

/** During `work`, makes joins of the host end like this in kubeadm's etcd phase. Returns whether a join did. */
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
