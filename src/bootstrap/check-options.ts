import { cidrsSchema, overlaps, partsOf } from '#api/cidr.ts';
import { DNS_LABEL } from '#api/host.ts';
import { UsageError } from '#base/errors.ts';

/** Options that the first playbook would only stumble over. Throws UsageError that names each that is wrong. */
export function checkOptions({
  nodeName,
  podCidr,
  serviceCidr,
  neighbours,
  offeredNeighbours,
}: {
  nodeName: string;
  podCidr: string;
  serviceCidr: string;
  neighbours: readonly string[];
  offeredNeighbours: readonly string[];
}): void {
  const wrong: string[] = [];
  if (nodeName.length > 63 || !DNS_LABEL.test(nodeName))
    wrong.push(
      `--node-name: "${nodeName}" is not a DNS label; use at most 63 lower-case letters, digits and "-"`,
    );
  for (const [flag, text] of Object.entries({ 'pod-cidr': podCidr, 'service-cidr': serviceCidr })) {
    const problem = cidrsSchema.safeParse(text).error?.issues[0]?.message;
    if (problem !== undefined) wrong.push(`--${flag}: "${text}" ${problem}`);
  }
  const [pods, services] = [partsOf(podCidr), partsOf(serviceCidr)];
  if (services.some((one) => pods.some((other) => one.cidr && other.cidr && overlaps(one.cidr, other.cidr))))
    wrong.push(`--service-cidr: "${serviceCidr}" overlaps --pod-cidr ${podCidr}`);
  const families = (parts: typeof pods) => parts.map(({ cidr }) => cidr?.[0].kind()).join();
  if (families(pods) !== families(services))
    wrong.push(
      `--service-cidr: "${serviceCidr}" must have the same families in the same order as --pod-cidr ${podCidr}`,
    );
  for (const name of neighbours)
    if (!offeredNeighbours.includes(name))
      wrong.push(`--neighbours: "${name}" is none of ${offeredNeighbours.join(', ')}`);
  if (wrong.length > 0) throw new UsageError(wrong.join('\n'));
}
