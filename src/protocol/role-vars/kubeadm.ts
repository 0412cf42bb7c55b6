import type { Inputs, Vars } from './inputs.ts';
import type { Topology } from './topology.ts';

const KUBEADM = 'kubeadm.k8s.io/v1beta4';
const PUBLIC_REGISTRY = 'registry.k8s.io';
const KEYS = '/etc/kubernetes/pki';
const CRI_SOCKET = 'unix:///run/containerd/containerd.sock';
/** Control planes share the folder of keys, so those that join have patches and policies too. */
const SHARED = `${KEYS}/matryoshka`;
const AUDIT_LOGS = '/var/log/kubernetes/audit';
/** Limits of the audit log: days, files, MiB. */
const AUDIT = { maxage: 30, maxbackup: 10, maxsize: 100 };

const isSet = (map: Record<string, unknown>): boolean => Object.keys(map).length > 0;

/** Returns the part of kubeadm's documents that names the folder of patches. */
const patchesOf = ({ kubeadm_patches: patches }: Vars) =>
  isSet(patches) ? { patches: { directory: `${SHARED}/patches` } } : {};

const clusterBase = ({ kube_version, images_registry, encryption_algorithm }: Vars) => ({
  apiVersion: KUBEADM,
  kind: 'ClusterConfiguration',
  kubernetesVersion: kube_version,
  imageRepository: images_registry || PUBLIC_REGISTRY,
  encryptionAlgorithm: encryption_algorithm,
});

/**
 * A member that has lost its data does not start, rather than begin an empty etcd. The roles make the data of a new etcd
 * (etcd.io, Clustering guide, `--initial-cluster-state`).
 */
const LOCAL_ETCD = {
  dataDir: '/var/lib/etcd',
  extraArgs: [{ name: 'initial-cluster-state', value: 'existing' }],
};

/** Returns kubeadm's description of etcd (kubeadm API v1beta4, Etcd). */
const etcdOf = ({ externalEtcd, etcdMembers, etcdUrls }: Topology) =>
  externalEtcd
    ? {
        external: {
          endpoints: etcdMembers.flatMap((host) => etcdUrls[host] ?? []),
          caFile: `${KEYS}/etcd/ca.crt`,
          certFile: `${KEYS}/apiserver-etcd-client.crt`,
          keyFile: `${KEYS}/apiserver-etcd-client.key`,
        },
      }
    : { local: LOCAL_ETCD };

/** Returns the flags of API servers beside those that kubeadm sets. */
function apiServerFlags({ encryption_at_rest, audit_policy, audit_log }: Vars): Record<string, string> {
  const { maxage, maxbackup, maxsize } = { ...AUDIT, ...audit_log };
  return {
    ...(encryption_at_rest ? { 'encryption-provider-config': `${SHARED}/encryption.yaml` } : {}),
    ...(isSet(audit_policy)
      ? {
          'audit-policy-file': `${SHARED}/audit-policy.yaml`,
          'audit-log-path': `${AUDIT_LOGS}/audit.log`,
          'audit-log-maxage': String(maxage),
          'audit-log-maxbackup': String(maxbackup),
          'audit-log-maxsize': String(maxsize),
        }
      : {}),
  };
}

/**
 * Returns kubeadm's ClusterConfiguration, and the configurations of kubelet and kube-proxy (kubeadm API v1beta4). What hosts
 * themselves must say, such as their second address, the roles add.
 */
export function kubeadmDocuments({ vars, hosts, group }: Inputs, topology: Topology) {
  const masters = group('kube-master').flatMap((host) => hosts[host]?.access_ip ?? []);
  const names = [vars.control_plane_endpoint_name, vars.control_plane_endpoint_address];
  const audits = isSet(vars.audit_policy);
  const etcd = etcdOf(topology);
  return {
    patched: patchesOf(vars),
    etcd_of_kubeadm: etcd,
    kubelet_configuration: {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      cgroupDriver: 'systemd',
      ...(vars.kubelet_resolv_conf_nameservers.length > 0
        ? { resolvConf: '/etc/kubernetes/resolv.conf' }
        : {}),
      ...vars.kubelet_config,
    },
    kube_proxy_configuration: {
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      ...vars.kube_proxy_config,
    },
    cluster_configuration: {
      ...clusterBase(vars),
      clusterName: vars.cluster_name,
      controlPlaneEndpoint: topology.endpoint,
      networking: { podSubnet: vars.pod_cidr, serviceSubnet: vars.service_cidr },
      etcd,
      apiServer: {
        certSANs: [...new Set([...names, ...masters, ...vars.cert_sans].filter((name) => name !== ''))],
        extraArgs: Object.entries(apiServerFlags(vars)).map(([name, value]) => ({ name, value })),
        extraVolumes: audits
          ? [
              {
                name: 'audit-log',
                hostPath: AUDIT_LOGS,
                mountPath: AUDIT_LOGS,
                readOnly: false,
                pathType: 'DirectoryOrCreate',
              },
            ]
          : [],
      },
    },
  };
}

/** Returns the documents by which kubeadm makes certificates and a static pod of etcd on a host. */
export const etcdDocuments = (host: string, topology: Topology, { vars }: Inputs) => [
  {
    apiVersion: KUBEADM,
    kind: 'InitConfiguration',
    nodeRegistration: { name: topology.nodeNames[host], criSocket: CRI_SOCKET },
    localAPIEndpoint: { advertiseAddress: topology.ip(host) },
    ...(topology.isMaster(host) ? patchesOf(vars) : {}),
  },
  // A script puts the folder in place of the name.
  { ...clusterBase(vars), certificatesDir: 'CERTIFICATES_DIR', etcd: { local: LOCAL_ETCD } },
];
