/** A component that is built from source: one of our Go modules, which pins the upstream and its dependencies. */
export interface Component {
  readonly name: string;
  readonly version: string;
  /** Output file → Go package. */
  readonly binaries: Readonly<Record<string, string>>;
  /** Output file → Go package whose tests become one program, as upstream builds its suites. */
  readonly tests?: Readonly<Record<string, string>>;
  /** Whether it is linked statically against libc. The others need no libc. */
  readonly cgo?: true;
  readonly tags?: readonly string[];
  /** The module to which the folder's `*.patch` files apply. */
  readonly patched?: string;
  /** Go variables that the linker sets, mostly versions. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** The oldest release. Tests run against its API server, and `make newest` against the newest one's. */
const kubernetesVersion = 'v1.34.4';
const laterKubernetes = 'v1.35.4';
const newestKubernetes = 'v1.36.3';

const kubernetesVariables = (version: string): Record<string, string> => {
  const [major = '', minor = ''] = version.slice(1).split('.');
  const fields = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  return Object.fromEntries(
    ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((path) =>
      Object.entries(fields).map(([field, value]) => [`${path}.${field}`, value]),
    ),
  );
};

const kubernetesBinaries = Object.fromEntries(
  [
    'kube-apiserver',
    'kube-controller-manager',
    'kube-scheduler',
    'kube-proxy',
    'kubeadm',
    'kubelet',
    'kubectl',
  ].map((name) => [name, `k8s.io/kubernetes/cmd/${name}`]),
);

/** Components in the order of a full build: first those that tests need, then those that take long. */
export const components = {
  etcd: {
    name: 'etcd',
    version: 'v3.6.16',
    binaries: {
      etcd: 'go.etcd.io/etcd/server/v3',
      etcdctl: 'go.etcd.io/etcd/etcdctl/v3',
      etcdutl: 'go.etcd.io/etcd/etcdutl/v3',
    },
  },
  s3: {
    name: 's3',
    version: 'v1.8.0',
    binaries: { versitygw: 'github.com/versity/versitygw/cmd/versitygw' },
  },
  kubernetes: {
    name: 'kubernetes',
    version: kubernetesVersion,
    binaries: kubernetesBinaries,
    variables: kubernetesVariables(kubernetesVersion),
  },
  'kubernetes-later': {
    name: 'kubernetes-later',
    version: laterKubernetes,
    binaries: kubernetesBinaries,
    variables: kubernetesVariables(laterKubernetes),
  },
  'kubernetes-newest': {
    name: 'kubernetes-newest',
    version: newestKubernetes,
    binaries: kubernetesBinaries,
    variables: kubernetesVariables(newestKubernetes),
  },
  containerd: {
    name: 'containerd',
    version: 'v2.1.5',
    binaries: Object.fromEntries(
      ['containerd', 'containerd-shim-runc-v2', 'ctr'].map((name) => [
        name,
        `github.com/containerd/containerd/v2/cmd/${name}`,
      ]),
    ),
    variables: { 'github.com/containerd/containerd/v2/version.Version': 'v2.1.5' },
  },
  runc: {
    name: 'runc',
    version: 'v1.3.3',
    binaries: { runc: 'github.com/opencontainers/runc' },
    cgo: true,
    tags: ['seccomp'],
    variables: { 'main.version': '1.3.3' },
  },
  cni: {
    name: 'cni',
    version: 'v1.9.1',
    binaries: {
      bridge: 'github.com/containernetworking/plugins/plugins/main/bridge',
      loopback: 'github.com/containernetworking/plugins/plugins/main/loopback',
      'host-local': 'github.com/containernetworking/plugins/plugins/ipam/host-local',
      portmap: 'github.com/containernetworking/plugins/plugins/meta/portmap',
    },
  },
  // No proxy serves flannel's own repository of the plugin as a Go module, so this one is the source.
  'flannel-cni': {
    name: 'flannel-cni',
    version: 'v0.9.1',
    binaries: { flannel: 'github.com/containernetworking/plugins/plugins/meta/flannel' },
  },
  flannel: {
    name: 'flannel',
    version: 'v0.28.4',
    binaries: { flanneld: 'github.com/flannel-io/flannel' },
    cgo: true,
    variables: { 'github.com/flannel-io/flannel/pkg/version.Version': 'v0.28.4' },
  },
  // k3s' fork keeps upstream's name of the module, and is beside flannel there as well.
  'kube-router': {
    name: 'kube-router',
    version: 'v2.2.1',
    binaries: { 'kube-router': 'github.com/cloudnativelabs/kube-router/v2/cmd/kube-router' },
    patched: 'github.com/cloudnativelabs/kube-router/v2',
    variables: { 'github.com/cloudnativelabs/kube-router/v2/pkg/version.Version': 'v2.2.1' },
  },
  coredns: {
    name: 'coredns',
    version: 'v1.12.1',
    binaries: { coredns: '.' },
  },
  // Upstream's own suites, and the programs that their specs run in pods. Only `make conformance-cluster` needs them.
  'kubernetes-e2e': {
    name: 'kubernetes-e2e',
    version: kubernetesVersion,
    binaries: {
      ginkgo: 'github.com/onsi/ginkgo/v2/ginkgo',
      agnhost: 'k8s.io/kubernetes/test/images/agnhost',
      nnp: 'k8s.io/kubernetes/test/images/nonewprivs',
    },
    tests: {
      'e2e.test': 'k8s.io/kubernetes/test/e2e',
      'e2e_kubeadm.test': 'k8s.io/kubernetes/test/e2e_kubeadm',
    },
    variables: kubernetesVariables(kubernetesVersion),
  },
  // Checks whether a cluster's network enforces policies. Only `make conformance-cluster CYCLONUS=1` needs it.
  cyclonus: {
    name: 'cyclonus',
    version: 'v0.5.6',
    binaries: { cyclonus: 'github.com/mattfenwick/cyclonus/cmd/cyclonus' },
  },
} as const satisfies Record<string, Component>;

export type ComponentName = keyof typeof components;
