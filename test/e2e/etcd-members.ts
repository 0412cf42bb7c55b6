import { docker } from '#lab/hosts/docker.ts';
import type { LabHost } from '#lab/hosts/places.ts';

/** Names of etcd's members, as the static pod on a control plane tells them, in order; `learner` behind one that does not vote. */
export async function membersOn(host: LabHost): Promise<string[]> {
  const script = `pki=/etc/kubernetes/pki/etcd
id=$(ctr -n k8s.io tasks ls | awk '$3 == "RUNNING" { print $1 }' | grep -xF "$(ctr -n k8s.io containers ls -q 'labels."io.kubernetes.container.name"==etcd')" | head -1)
ctr -n k8s.io tasks exec --exec-id test-$RANDOM$RANDOM "$id" etcdctl --cacert $pki/ca.crt --cert $pki/server.crt --key $pki/server.key member list -w simple`;
  const lines = await docker(['exec', host.name, 'bash', '-c', script]);
  return lines
    .trim()
    .split('\n')
    .map((line) => line.split(', '))
    .map(([, , name = '', , , learner]) => `${name}${learner === 'true' ? ' learner' : ''}`)
    .sort();
}
