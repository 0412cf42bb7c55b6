import { cidrsSchema } from '#api/cidr.ts';
import { DNS_LABEL } from '#api/host.ts';
import { UsageError } from '#base/errors.ts';
import { networkProblems } from '#operations/validate-networks.ts';

/**
 * Namespaces that must not be served: a user who creates clusters there could read data of the operator, an add-on or
 * Kubernetes.
 */
const SYSTEMS = /^(matryoshka|kube)-/;

/** Returns the option for a field of a cluster's spec. */
const flagOf = (field: string): string =>
  field.endsWith('podCIDR') ? '--pod-cidr' : field.endsWith('serviceCIDR') ? '--service-cidr' : '--host';

/** Counts of hosts that keep a quorum of etcd as well as they can, up to what one installation needs. */
const HOST_COUNTS: readonly number[] = [1, 3];

/**
 * Validates options before the first playbook fails on them. Throws UsageError that names each wrong one. Returns the first
 * host.
 */
export function checkOptions({
  host,
  nodeName,
  podCidr,
  serviceCidr,
  servedNamespaces,
  addons,
  offeredAddons,
}: {
  host: readonly string[];
  nodeName: string;
  podCidr: string;
  serviceCidr: string;
  servedNamespaces: readonly string[];
  addons: readonly string[];
  offeredAddons: readonly string[];
}): string {
  const labels = [
    ['--node-name', host.length > 1 ? `${nodeName}-${host.length}` : nodeName],
    ...servedNamespaces.map((name) => ['--served-namespaces', name] as const),
  ] as const;
  const wrong = labels
    .filter(([, text]) => text.length > 63 || !DNS_LABEL.test(text))
    .map(
      ([flag, text]) =>
        `${flag}: "${text}" is not a DNS label; use at most 63 lower-case letters, digits and "-"`,
    );
  for (const name of servedNamespaces.filter((one) => SYSTEMS.test(one)))
    wrong.push(`--served-namespaces: "${name}" is a system's own; name those of users`);
  const cidrs = { podCIDR: podCidr, serviceCIDR: serviceCidr };
  const misspelled = Object.entries(cidrs).flatMap(([field, text]) => {
    const problem = cidrsSchema.safeParse(text).error?.issues[0]?.message;
    return problem === undefined ? [] : [`${flagOf(field)}: "${text}" ${problem}`];
  });
  const problems =
    misspelled.length > 0
      ? []
      : networkProblems({ cluster: { masterList: host.map((ip) => ({ ip })), ...cidrs } });
  wrong.push(
    ...misspelled,
    ...problems.map(({ field, value, reason }) => `${flagOf(field)}: "${value}" ${reason}`),
  );
  if (!HOST_COUNTS.includes(host.length))
    wrong.push(`--host: "${host.join(',')}" names ${host.length} hosts; name one, or three`);
  if (new Set(host).size < host.length) wrong.push(`--host: "${host.join(',')}" names a host twice`);
  for (const name of addons)
    if (!offeredAddons.includes(name))
      wrong.push(`--addons: "${name}" is none of ${offeredAddons.join(', ')}`);
  const [first] = host;
  if (wrong.length > 0 || first === undefined) throw new UsageError(wrong.join('\n'));
  return first;
}
