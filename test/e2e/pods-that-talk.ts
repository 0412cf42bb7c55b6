import { z } from 'zod';
import type { KubeObject, Resource } from '#api/meta.ts';
import { docker } from '#lab/hosts/docker.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { seen } from '#lab/meta/faults.ts';
import type { Client } from '#runtime/client/client.ts';

const core = (kind: string, plural: string, namespaced: boolean): Resource => ({
  group: '',
  version: 'v1',
  kind,
  plural,
  namespaced,
});
const NAMESPACES = core('Namespace', 'namespaces', false);
const CONFIG_MAPS = core('ConfigMap', 'configmaps', true);
const ACCOUNTS = core('ServiceAccount', 'serviceaccounts', true);
const PODS = core('Pod', 'pods', true);
const options = { fieldManager: 'e2e', force: true };
/** Port of CoreDNS' health endpoint; its image is already on every host. */
const PORT = 8080;
/** A second port of the same pod, which no test policy allows. */
const OTHER_PORT = 8181;
const readySchema = z.object({
  status: z.object({
    podIP: z.string(),
    podIPs: z.array(z.object({ ip: z.string() })),
    conditions: z.array(z.object({ type: z.string(), status: z.string() })),
  }),
});

/** A pod that serves HTTP, and from whose network other pods can be reached. */
export interface TalkingPod {
  readonly namespace: string;
  readonly name: string;
  readonly ip: string;
  /** Addresses, one of each family that pods have, `ip` first. */
  readonly ips: readonly string[];
  readonly host: LabHost;
}

/** Runs such a pod on the node of a host, in a namespace that it creates, and waits until it is ready. */
export async function talkingPod(
  client: Client,
  at: { namespace: string; name: string; labels: Record<string, string> },
  { host, nodeName }: { host: LabHost; nodeName: string },
): Promise<TalkingPod> {
  const { namespace, name, labels } = at;
  const corefile = `.:5300 {\n  health :${PORT}\n  ready :${OTHER_PORT}\n}\n`;
  const objects: [Resource, KubeObject & Record<string, unknown>][] = [
    [NAMESPACES, { metadata: { name: namespace } }],
    [CONFIG_MAPS, { metadata: { namespace, name: 'corefile' }, data: { Corefile: corefile } }],
    [
      PODS,
      {
        metadata: { namespace, name, labels },
        spec: {
          nodeName,
          containers: [
            {
              name: 'web',
              image: 'registry.k8s.io/coredns/coredns:v1.12.1',
              imagePullPolicy: 'IfNotPresent',
              args: ['-conf', '/etc/coredns/Corefile'],
              volumeMounts: [{ name: 'conf', mountPath: '/etc/coredns' }],
              readinessProbe: { httpGet: { path: '/health', port: PORT }, periodSeconds: 1 },
            },
          ],
          volumes: [{ name: 'conf', configMap: { name: 'corefile' } }],
        },
      },
    ],
  ];
  for (const [resource, object] of objects) {
    // Pods are refused until their namespace has its default ServiceAccount.
    if (resource === PODS)
      await seen(`the account of ${namespace}`, () =>
        client.get(ACCOUNTS, { namespace, name: 'default' }).then(
          () => true,
          () => false,
        ),
      );
    await client.apply(resource, object, options);
  }
  let ip = '';
  let ips: string[] = [];
  await seen(`pod ${name} to be ready`, async () => {
    const pod = readySchema.safeParse(await client.get(PODS, { namespace, name }));
    ip = pod.data?.status.podIP ?? '';
    ips = pod.data?.status.podIPs.map((one) => one.ip) ?? [];
    return pod.success && isReadyBy(pod.data);
  });
  return { namespace, name, ip, ips, host };
}

/** Whether a pod is ready, which its kubelet probes over the network. */
export async function isReady(client: Client, { namespace, name }: TalkingPod): Promise<boolean> {
  return isReadyBy(readySchema.parse(await client.get(PODS, { namespace, name })));
}

const isReadyBy = ({ status: { conditions } }: z.infer<typeof readySchema>): boolean =>
  conditions.some(({ type, status }) => type === 'Ready' && status === 'True');

/** Connects from one pod's network to another pod. Returns whether it answers within two seconds. */
export function answers(from: TalkingPod, to: TalkingPod, port: 'first' | 'other' = 'first') {
  return answersAt(from, to.ip, port === 'first' ? `${PORT}/health` : `${OTHER_PORT}/ready`);
}

/** Connects from a pod's network to an address; `where` is port and path. */
export async function answersAt(from: TalkingPod, address: string, where = `${PORT}/health`) {
  const url = `http://${address.includes(':') ? `[${address}]` : address}:${where}`;
  const script = `for net in /run/netns/cni-*; do
    nsenter --net=$net ip -o address show | grep -qF ' ${from.ip}/' || continue
    nsenter --net=$net curl -gsf -m 2 -o /dev/null '${url}' && echo answered || echo silent
    exit
  done
  echo 'no pod has the address ${from.ip}' >&2; exit 1`;
  return (await docker(['exec', from.host.name, 'bash', '-c', script])).trim() === 'answered';
}
