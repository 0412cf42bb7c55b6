import type { ArtifactImage, Inputs } from './inputs.ts';
import type { Topology } from './topology.ts';

const PUBLIC = ['', 'registry.k8s.io'];

/** Returns the name of an image in the cluster's own registry, which has all of them side by side, as kubeadm expects. */
const renamed = (image: string, registry: string): string =>
  PUBLIC.includes(registry) ? image : `${registry}/${image.split('/').at(-1)}`;

/** Names of component images as roles use them, by the names of the release. */
const COMPONENTS = {
  pause_image: 'pause',
  etcd_image: 'etcd',
  balancer_image: 'balancer',
  flannel_image: 'flannel',
  kube_router_image: 'kube-router',
} as const;

/** Returns the images that the cluster is made of, and for each set of duties those that its hosts load. */
export function imageVars({ vars }: Inputs) {
  const { images_registry: registry, component_images: components } = vars;
  return Object.fromEntries(
    Object.entries(COMPONENTS).flatMap(([name, component]) => {
      const image = components[component];
      return image === undefined ? [] : [[name, renamed(image, registry)]];
    }),
  );
}

/** Returns the images that a host loads before anything starts there, with their files. */
export function hostImages(host: string, topology: Topology, { vars }: Inputs): ArtifactImage[] {
  const { network, images_registry: registry, artifact_images: all, component_images: components } = vars;
  const unused = [
    ...(network === 'none' ? [components['flannel']] : []),
    ...(network === 'flannel-policies' ? [] : [components['kube-router']]),
  ];
  const audiences = [
    'all',
    ...(topology.isMaster(host) ? ['masters'] : []),
    ...(topology.isBalanced(host) ? ['balanced'] : []),
  ];
  const etcd = topology.isEtcdMember(host) ? all.filter(({ image }) => image === components['etcd']) : [];
  const rest = topology.etcdOnly.includes(host)
    ? []
    : all.filter(({ image, hosts }) => audiences.includes(hosts) && !unused.includes(image));
  return [...etcd, ...rest].map((one) => ({ ...one, image: renamed(one.image, registry) }));
}
