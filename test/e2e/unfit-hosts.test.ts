import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Meta } from '#lab/meta/meta.ts';
import { byKubectl } from './by-kubectl.ts';
import { byNumber } from './by-number.ts';
import { openLane } from './lanes.ts';
import { tracesOn } from './traces.ts';

/** Hosts on which kubeadm, the kubelet or the pod network would fail; one precheck reports every reason. */
const NAME = 'unfit';
let meta: Meta;
let shell: ReturnType<typeof byKubectl>;
let traces: (index: number) => Promise<string[]>;
beforeAll(async () => {
  meta = await openLane();
  shell = byKubectl(meta, NAME);
  await shell.giveKeys();
  traces = await tracesOn(meta);
});
afterAll(() => meta.close());
const { host, sh } = byNumber(() => meta);

/** For each host: the command that makes it unfit, the command that fixes it, and the problems. */
const UNFIT: readonly (readonly [make: string, mend: string, problems: readonly RegExp[]])[] = [
  [
    `mkdir -p /var/lib/etcd/lost+found
     nft add table inet block
     nft add chain inet block input '{ type filter hook input priority 0; }'
     nft add rule inet block input tcp dport 6443 drop`,
    'rm -r /var/lib/etcd; nft delete table inet block',
    [/lost\+found/],
  ],
  [
    `cp /etc/fstab /root/fstab.kept; echo '/swapfile none swap sw 0 0' >> /etc/fstab
     cp /etc/resolv.conf /root/resolv.kept; echo nameserver 127.0.0.53 > /etc/resolv.conf
     ip route add 10.244.9.0/24 dev eth0`,
    `cp /root/fstab.kept /etc/fstab; cp /root/resolv.kept /etc/resolv.conf; rm /root/*.kept
     ip route delete 10.244.9.0/24`,
    [
      /remove the line of \/swapfile from \/etc\/fstab/,
      /CoreDNS ends in a loop/,
      /10\.244\.9\.0\/24.*podCIDR/,
    ],
  ],
  [
    `mv /usr/sbin/losetup /root/; mkdir /var/lib/containerd
     mount -t tmpfs -o noexec,size=64m tmpfs /var/lib/containerd`,
    'mv /root/losetup /usr/sbin/; umount /var/lib/containerd; rmdir /var/lib/containerd',
    [/losetup is not installed/, /\/var\/lib\/containerd is a file system of its own with 0/],
  ],
  [
    "sed -i '/^root:/s#/bin/bash#/usr/sbin/nologin#' /etc/passwd",
    "sed -i '/^root:/s#/usr/sbin/nologin#/bin/bash#' /etc/passwd",
    [/not available|exit code/],
  ],
];

it('unfit hosts are refused with each reason, and stay unchanged', async () => {
  try {
    for (const [index, [make]] of UNFIT.entries()) await sh(index, make);
    await shell.apply({
      masters: [{ ip: host(0).ip }],
      workers: [1, 2, 3].map((index) => ({ ip: host(index).ip })),
      word: 'creating',
    });
    const failed = await shell.untilStalled('OperationFailed', 120_000);
    const said = failed?.status?.message ?? '';
    for (const [, , problems] of UNFIT) for (const problem of problems) expect(said).toMatch(problem);
    // The precheck finds the control plane's firewall from a worker.
    expect(said).toContain(`TCP 6443 of ${host(0).ip}`);
  } finally {
    for (const [index, [, mend]] of UNFIT.entries()) await sh(index, mend);
  }
  await shell.run(['delete', 'ecs', NAME, '--wait=false']);
  await shell.untilGone(60_000);
  for (const index of UNFIT.keys()) expect(await traces(index), host(index).name).toEqual([]);
});
