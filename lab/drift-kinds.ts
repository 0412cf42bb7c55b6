import { basename } from 'node:path';

const CONFIG = '/etc/containerd/config.toml';
const UNITS = '/etc/systemd/system';
const SCHEDULER = '/etc/kubernetes/manifests/kube-scheduler.yaml';
const copied = (path: string, change: string): [string, string] => [
  `cp -a ${path} /root/kept-${basename(path)} && ${change}`,
  `cp -a --remove-destination /root/kept-${basename(path)} ${path} && rm /root/kept-${basename(path)}`,
];

/**
 * 0 for a control plane, 1 for a worker; the commands that change the host and undo that; text that the report must have.
 */
export type Kind = [number, [string, string], string];
/** Ways in which a user changes hosts of a cluster by hand. */
export const KINDS: readonly Kind[] = [
  [1, copied(CONFIG, `echo '# x' >> ${CONFIG}`), `${CONFIG} changed`],
  [1, copied(CONFIG, `rm ${CONFIG}`), `${CONFIG} missing`],
  [1, [`chmod 600 ${CONFIG}`, `chmod 644 ${CONFIG}`], `${CONFIG} mode 600 instead of 644`],
  [1, [`chown 1:1 ${CONFIG}`, `chown 0:0 ${CONFIG}`], `${CONFIG} owner 1:1 instead of 0:0`],
  [1, copied(CONFIG, `mv ${CONFIG} /run/away && ln -s /run/away ${CONFIG}`), `${CONFIG} is a link`],
  [
    1,
    copied('/usr/local/bin/kubeadm', 'printf x >> /usr/local/bin/kubeadm'),
    '/usr/local/bin/kubeadm changed',
  ],
  [1, copied('/usr/local/bin/runc', 'rm /usr/local/bin/runc'), '/usr/local/bin/runc missing'],
  [1, copied('/opt/cni/bin/bridge', 'rm /opt/cni/bin/bridge'), '/opt/cni/bin/bridge missing'],
  [
    1,
    copied('/etc/cni/net.d/10-flannel.conflist', 'echo >> /etc/cni/net.d/10-flannel.conflist'),
    '10-flannel.conflist changed',
  ],
  [
    1,
    copied('/var/lib/kubelet/config.yaml', 'echo "# x" >> /var/lib/kubelet/config.yaml'),
    '/var/lib/kubelet/config.yaml changed',
  ],
  [
    1,
    copied(`${UNITS}/kubelet.service`, `echo '# x' >> ${UNITS}/kubelet.service`),
    'kubelet.service changed',
  ],
  [
    1,
    [
      `printf '[Service]\\nNice=1\\n' > ${UNITS}/kubelet.service.d/x.conf && systemctl daemon-reload`,
      `rm ${UNITS}/kubelet.service.d/x.conf && systemctl daemon-reload`,
    ],
    'unit kubelet.service changed by',
  ],
  [1, ['systemctl disable -q kubelet', 'systemctl enable -q kubelet'], 'unit kubelet.service not enabled'],
  [1, ['systemctl stop kubelet', 'systemctl start kubelet'], 'unit kubelet.service not running'],
  [
    1,
    ['systemctl stop containerd', 'systemctl start containerd kubelet'],
    'unit containerd.service not running',
  ],
  [
    1,
    ['sysctl -qw net.ipv4.ip_forward=0', 'sysctl -qw net.ipv4.ip_forward=1'],
    'net.ipv4.ip_forward is 0, was made 1',
  ],
  [
    1,
    copied('/etc/sysctl.d/99-matryoshka.conf', 'rm /etc/sysctl.d/99-matryoshka.conf'),
    '99-matryoshka.conf missing',
  ],
  [
    1,
    [
      'cat /etc/hosts > /root/kept && grep -v matryoshka /root/kept > /etc/hosts',
      'cat /root/kept > /etc/hosts && rm /root/kept',
    ],
    '/etc/hosts lines of the API servers changed',
  ],
  [
    1,
    copied('/usr/local/sbin/matryoshka-fence', 'rm /usr/local/sbin/matryoshka-fence'),
    'matryoshka-fence missing',
  ],
  [
    0,
    copied(SCHEDULER, `sed -i 's/--leader-elect=true/--leader-elect=true /' ${SCHEDULER}`),
    `${SCHEDULER} changed`,
  ],
  [
    0,
    ['chmod 644 /etc/kubernetes/pki/sa.key', 'chmod 600 /etc/kubernetes/pki/sa.key'],
    '/etc/kubernetes/pki/sa.key mode 644 instead of 600',
  ],
  [
    0,
    copied('/etc/kubernetes/admin.conf', 'echo "# x" >> /etc/kubernetes/admin.conf'),
    '/etc/kubernetes/admin.conf changed',
  ],
];
