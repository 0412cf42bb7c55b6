import type { Inputs } from './inputs.ts';

/** Returns the settings of flannel (flannel-io/flannel, Configuration) and whether kube-router enforces network policies. */
export function networkVars({ vars }: Inputs) {
  const { pod_cidr, network, kube_proxy_config: kubeProxy } = vars;
  const cidrs = pod_cidr.split(',');
  const ipv4 = cidrs.find((cidr) => !cidr.includes(':'));
  const ipv6 = cidrs.find((cidr) => cidr.includes(':'));
  const isDualStack = cidrs.length > 1;
  return {
    dual_stack: isDualStack,
    enforces_policies: network === 'flannel-policies',
    flannel_configuration: {
      ...(ipv4 === undefined ? { EnableIPv4: false } : { Network: ipv4 }),
      ...(ipv6 === undefined ? {} : { EnableIPv6: true, IPv6Network: ipv6 }),
      EnableNFTables: kubeProxy['mode'] === 'nftables',
      Backend: { Type: 'vxlan' },
    },
    // With both families flannel would look for an IPv6 address itself, and may find a temporary one. NODE_IPS is `v4,v6`.
    flannel_command: isDualStack
      ? [
          'sh',
          '-c',
          `exec /opt/bin/flanneld --ip-masq --kube-subnet-mgr --iface=$(NODE_IP) --public-ipv6=\${NODE_IPS##*,}`,
        ]
      : ['/opt/bin/flanneld', '--ip-masq', '--kube-subnet-mgr', '--iface=$(NODE_IP)'],
  };
}
