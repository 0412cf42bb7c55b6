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

/** Validates options before the first playbook fails on them. Throws UsageError that names each wrong one. */
export function checkOptions({
  host,
  nodeName,
  podCidr,
  serviceCidr,
  servedNamespaces,
  addons,
  offeredAddons,
}: {
  host: string;
  nodeName: string;
  podCidr: string;
  serviceCidr: string;
  servedNamespaces: readonly string[];
  addons: readonly string[];
  offeredAddons: readonly string[];
}): void {
  const labels = [
    ['--node-name', nodeName],
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
    misspelled.length > 0 ? [] : networkProblems({ cluster: { masterList: [{ ip: host }], ...cidrs } });
  wrong.push(
    ...misspelled,
    ...problems.map(({ field, value, reason }) => `${flagOf(field)}: "${value}" ${reason}`),
  );
  for (const name of addons)
    if (!offeredAddons.includes(name))
      wrong.push(`--addons: "${name}" is none of ${offeredAddons.join(', ')}`);
  if (wrong.length > 0) throw new UsageError(wrong.join('\n'));
}
