import { canonicalIp, isDnsName } from '#api/host.ts';
import type { Kubeadm } from '#api/kubeadm.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import type { Problem } from '#base/errors.ts';
import { TEMPLATE } from '#protocol/template.ts';
import { auditProblems } from './validate-audit.ts';
import { patchProblems } from './validate-patches.ts';
import { sourceProblems } from './validate-sources.ts';

const at = (field: string): string => `spec.cluster.kubeadm.${field}`;

/** Longest text of `kubelet`, as JSON; every record of the cluster contains it. */
const MAX_KUBELET = 16_384;
/** Longest audit policy, as JSON; the whole object must fit into etcd with its records. */
const MAX_POLICY = 65_536;
/** Longest text of all patches together, as JSON. */
const MAX_PATCHES = 65_536;

const OURS = 'belongs to the installation; leave it out';
const REGISTERS = 'decides whether a node joins; leave it out';
const ACCESS = 'decides who may command the kubelet; kubeadm sets it so that only the API servers may';
const FOLDER = 'is a folder that a reset clears; leave it out';

/** Fields of KubeletConfiguration that users cannot set, and why (kubernetes.io, Kubelet Configuration v1beta1). */
const REFUSED: Readonly<Record<string, string>> = {
  apiVersion: OURS,
  kind: OURS,
  authentication: ACCESS,
  authorization: ACCESS,
  tlsCertFile: ACCESS,
  tlsPrivateKeyFile: ACCESS,
  serverTLSBootstrap: 'makes kubelets wait for certificates that no controller signs; leave it out',
  rotateCertificates: "decides whether a kubelet's certificate is renewed; leave it out",
  cgroupDriver: 'must be that of containerd, which the installation sets; leave it out',
  containerRuntimeEndpoint: 'leads to the containerd that is installed; leave it out',
  imageServiceEndpoint: 'leads to the containerd that is installed; leave it out',
  clusterDNS: 'follows from spec.cluster.serviceCIDR; leave it out',
  clusterDomain: 'is known to certificates and to CoreDNS; leave it out',
  staticPodPath: 'is where control planes have their static pods; leave it out',
  staticPodURL: 'gives the server of that URL control of every node; leave it out',
  staticPodURLHeader: 'gives the server of that URL control of every node; leave it out',
  registerNode: REGISTERS,
  enableServer: REGISTERS,
  healthzPort: 'is where kubeadm awaits the kubelet; leave it out',
  healthzBindAddress: 'is where kubeadm awaits the kubelet; leave it out',
  port: 'is where API servers reach the kubelet; leave it out',
  podLogsDir: FOLDER,
  volumePluginDir: FOLDER,
};

/** Returns the problems of `spec.cluster.kubeadm`. */
export function kubeadmProblems({ cluster: { kubeadm } }: Spec): Problem[] {
  if (!kubeadm) return [];
  return [
    ...namesProblems(kubeadm),
    ...kubeletProblems(kubeadm),
    ...sourceProblems(kubeadm),
    ...policyProblems(kubeadm),
    ...patchesProblems(kubeadm),
  ];
}

function namesProblems({ certSANs = [] }: Kubeadm): Problem[] {
  return certSANs.flatMap((name, index): Problem[] => {
    if (canonicalIp(name) !== undefined || isDnsName(name.replace(/^\*\./, ''))) return [];
    const reason = 'is neither a DNS name nor an IP address; write it like api.example.com or 192.168.1.10';
    return [{ field: at(`certSANs[${index}]`), value: name, reason }];
  });
}

function kubeletProblems({ kubelet }: Kubeadm): Problem[] {
  if (!kubelet) return [];
  const problems = Object.keys(kubelet).flatMap((name): Problem[] => {
    const reason = REFUSED[name];
    return reason === undefined
      ? []
      : [{ field: at(`kubelet.${name}`), reason: `cannot be set: it ${reason}` }];
  });
  const readOnlyPort = kubelet['readOnlyPort'] ?? 0;
  if (readOnlyPort !== 0) {
    const reason = 'would show pods to everybody without asking who it is; leave it out, or set it to 0';
    problems.push({ field: at('kubelet.readOnlyPort'), value: readOnlyPort, reason });
  }
  return [...problems, ...bounded('kubelet', kubelet, MAX_KUBELET)];
}

const policyProblems = ({ audit }: Kubeadm): Problem[] =>
  audit ? [...auditProblems(audit), ...bounded('audit.policy', audit.policy, MAX_POLICY)] : [];

const patchesProblems = ({ patches }: Kubeadm): Problem[] =>
  patches ? [...patchProblems(patches), ...bounded('patches', patches, MAX_PATCHES)] : [];

/** Refuses texts that are too long, and texts that Ansible would take for a template. */
function bounded(name: string, value: unknown, limit: number): Problem[] {
  const text = JSON.stringify(value);
  const field = at(name);
  if (Buffer.byteLength(text) > limit)
    return [{ field, reason: `is longer than ${limit / 1024} KiB as JSON; shorten it` }];
  if (TEMPLATE.test(text))
    return [{ field, reason: 'holds "{{", "{%" or "{#", which templates begin with; leave that out' }];
  return [];
}
