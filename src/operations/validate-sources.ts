import type { Kubeadm } from '#api/kubeadm.ts';
import type { Problem } from '#base/errors.ts';

const at = (field: string): string => `spec.cluster.kubeadm.${field}`;

const HOST = String.raw`([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[1-9][0-9]{0,4})?`;
const REGISTRY = new RegExp(`^${HOST}$`);
/** Matches URLs without characters that a shell, a systemd unit or TOML would interpret. */
const MIRROR = new RegExp(`^https?://${HOST}(/[A-Za-z0-9._~/-]*)?$`);

const PROXY = new RegExp(`^https?://${HOST}/?$`);
/** Matches a host, a domain with or without a leading dot, an address or a network; the first three may have a port. */
const DIRECT = new RegExp(`^(\\*?\\.)?${HOST}$|^[0-9A-Fa-f.:]+(/[0-9]{1,3})?$`);

/** Returns the problems of image sources. A value that may contain a password is not repeated. */
export const sourceProblems = (kubeadm: Kubeadm): Problem[] => [
  ...proxyProblems(kubeadm),
  ...mirrorProblems(kubeadm),
];

function proxyProblems({ proxy }: Kubeadm): Problem[] {
  if (!proxy) return [];
  const { httpProxy, httpsProxy, noProxy = [] } = proxy;
  if (httpProxy === undefined && httpsProxy === undefined)
    return [
      { field: at('proxy'), reason: 'names no proxy; set httpProxy, httpsProxy or both, or leave it out' },
    ];
  const urls = Object.entries({ httpProxy, httpsProxy }).flatMap(([name, url]) =>
    url === undefined ? [] : urlProblems(at(`proxy.${name}`), url, PROXY, 'http://proxy.example.com:3128'),
  );
  const direct = noProxy.flatMap((value, index): Problem[] => {
    if (DIRECT.test(value)) return [];
    const reason =
      'is neither a host, a domain, an address nor a network; write it like .example.com or 192.168.0.0/16';
    return [{ field: at(`proxy.noProxy[${index}]`), value, reason }];
  });
  return [...urls, ...direct];
}

function mirrorProblems({ registryMirrors = [] }: Kubeadm): Problem[] {
  const seen = new Set<string>();
  return registryMirrors.flatMap(({ registry, endpoints }, index): Problem[] => {
    const problems: Problem[] = [];
    const field = at(`registryMirrors[${index}]`);
    if (!REGISTRY.test(registry)) {
      const reason =
        'is not a registry; write it as names of images have it, like docker.io or 192.168.1.10:5000';
      problems.push({ field: `${field}.registry`, value: registry, reason });
    }
    if (seen.has(registry))
      problems.push({
        field: `${field}.registry`,
        value: registry,
        reason: 'is listed twice; join the entries',
      });
    seen.add(registry);
    for (const [place, url] of endpoints.entries())
      problems.push(
        ...urlProblems(`${field}.endpoints[${place}]`, url, MIRROR, 'https://mirror.example.com'),
      );
    return problems;
  });
}

function urlProblems(field: string, url: string, form: RegExp, example: string): Problem[] {
  if (/^[^/]*\/\/[^/]*@/.test(url)) {
    const reason =
      'holds a user or a password, which would stand on every host; name a server that needs none';
    return [{ field, reason }];
  }
  return form.test(url) ? [] : [{ field, reason: `is not a URL that can be used; write it like ${example}` }];
}
