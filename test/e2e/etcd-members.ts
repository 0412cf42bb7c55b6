import { docker } from '#lab/hosts/docker.ts';
import type { LabHost } from '#lab/hosts/places.ts';

/** Runs etcdctl in etcd's static pod on a control plane, over the family on which etcd listens. */
const etcdctl = (host: LabHost, words: string, endpoints = 'https://localhost:2379') =>
  docker([
    ...['exec', host.name, 'bash', '-c'],
    `pki=/etc/kubernetes/pki/etcd
id=$(ctr -n k8s.io tasks ls | awk '$3 == "RUNNING" { print $1 }' | grep -xF "$(ctr -n k8s.io containers ls -q 'labels."io.kubernetes.container.name"==etcd')" | head -1)
ctr -n k8s.io tasks exec --exec-id test-$RANDOM$RANDOM "$id" etcdctl --endpoints ${endpoints} --cacert $pki/ca.crt --cert $pki/server.crt --key $pki/server.key ${words}`,
  ]);

/** Lists the members: id, state, name, peer URL, client URL, whether it is a learner. */
async function listed(host: LabHost): Promise<string[][]> {
  const lines = await etcdctl(host, 'member list -w simple');
  return lines
    .trim()
    .split('\n')
    .map((line) => line.split(', '));
}

/**
 * Returns the names of etcd's members, in order, as the static pod on a control plane lists them; a learner has `learner`
 * behind its name.
 */
export async function membersOn(host: LabHost): Promise<string[]> {
  const found = await listed(host);
  return found.map(([, , name = '', , , learner]) => `${name}${learner === 'true' ? ' learner' : ''}`).sort();
}

/** Makes the member on this control plane the leader. */
export async function pointed(host: LabHost): Promise<void> {
  const found = await listed(host);
  const endpoints = found.map(([, , , , url = '']) => url).join();
  const id = found.find(([, , , , url]) => url?.includes(`//${host.ip}:`))?.[0];
  if (id === undefined) throw new Error(`${host.name} has no member of etcd`);
  await etcdctl(host, `move-leader ${id}`, endpoints).catch(() => '');
  const status = await etcdctl(host, 'endpoint status -w fields');
  const of = (field: string) => new RegExp(`"${field}" : (\\d+)`).exec(status)?.[1];
  if (of('Leader') !== of('MemberID')) throw new Error(`${host.name} does not lead etcd: ${status}`);
}

/** Counts how often the member on this control plane got the leadership by a handover, according to its log. */
export const timesHandedOver = async (host: LabHost): Promise<number> =>
  Number(
    await docker([
      ...['exec', host.name, 'bash', '-c'],
      'cat /var/log/pods/kube-system_etcd-*/etcd/*.log | grep -c "received MsgTimeoutNow" || true',
    ]),
  );
