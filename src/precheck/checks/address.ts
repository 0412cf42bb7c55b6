import { type Check, error, fine, joins } from '../check.ts';

/** Address of a host's interface. */
export interface Address {
  link: string;
  ip: string;
  flags: string;
}

/** Parses the output of `ip -o address show` in the host's answer. */
export const addressesIn = (lines: readonly string[]): Address[] =>
  lines.flatMap((line) => {
    const [, link, prefix, flags] = /^(\S+) (\S+) (.*)$/.exec(line) ?? [];
    const ip = prefix?.split('/')[0];
    return link === undefined || ip === undefined || flags === undefined ? [] : [{ link, ip, flags }];
  });

/** Whether other hosts can use the address. */
const isOwn = ({ flags }: Address): boolean => /\bscope global\b/.test(flags);

/**
 * Compares the host's address in the spec with those of its interfaces. An address that is translated on the way (floating,
 * NAT) reaches SSH, but etcd, the API server and the kubelet cannot listen on it (kubeadm,
 * localAPIEndpoint.advertiseAddress; kubelet, --node-ip).
 */
export const address: Check = {
  name: 'address',
  script: () =>
    `ip -o address show | while read -r _ link _ prefix flags; do say address "$link $prefix $flags"; done`,
  good: '@address eth0 10.0.0.1/24 brd 10.0.0.255 scope global eth0',
  check(context) {
    const { host } = context;
    const all = addressesIn(host.said.all('address'));
    // If the host reports no addresses, another check reports the reason.
    if (!joins(context) || all.length === 0 || all.some(({ ip }) => ip === host.ip)) return fine;
    const own = all.filter(isOwn).map(({ ip, link }) => `${ip} (${link})`);
    return error(
      `no interface has the address ${host.ip}, so it is translated on its way (a floating or NAT address); ` +
        `name the host by an address of its own${own.length === 0 ? '' : `: ${own.join(', ')}`}`,
    );
  },
};
