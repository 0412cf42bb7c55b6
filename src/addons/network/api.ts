import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { type Cidr, contains, parseCidr } from '#api/cidr.ts';
import { conditionSchema } from '#api/conditions.ts';
import { AGE, column, definitionOf } from '#api/custom-resource.ts';
import { hostSchema } from '#api/host.ts';
import { clusterSchema } from '#api/kubernetes-cluster.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { type JsonSchema, structuralOf } from '#api/structural-schema.ts';

/** Kind Network: the same bridge with a gateway on each of several hosts (docs/network.md). */
export const NETWORKS: Resource = {
  group: 'samplecrd.k8s.io',
  version: 'v1',
  kind: 'Network',
  plural: 'networks',
  namespaced: true,
};

/** Annotation: addresses of hosts, separated by commas, that may be left without cleanup. */
export const ABANDON = `${NETWORKS.group}/abandon-hosts`;
export const NETWORK_FINALIZER = `${NETWORKS.group}/bridges`;

const MAX_HOSTS = 32;
/** Lengths of a prefix. A longer one leaves no address besides the gateway's. */
const PREFIXES = { from: 8, to: 30 };

/** Returns a CEL rule that the API server enforces. Fields that are no addresses have their own rules. */
const rule = (expression: string, message: string, fieldPath: string) => ({
  rule: expression,
  message,
  fieldPath,
});
const isCidr = 'isCIDR(self.cidr) && cidr(self.cidr).ip().family() == 4';
const isGateway = 'isIP(self.gateway) && ip(self.gateway).family() == 4';
const ofCidr = (expression: string) => `!(${isCidr}) || ${expression}`;
const ofBoth = (expression: string) => `!(${isCidr}) || !(${isGateway}) || ${expression}`;
const bits = 'cidr(self.cidr).prefixLength()';
/** Returns CEL for whether the gateway's bits behind the prefix are all 0, or all 1. CEL has no access to bits. */
const isAll = (bit: 0 | 1) =>
  [0, 1, 2, 3]
    .map((octet) => {
      const sizes = [256, 128, 64, 32, 16, 8, 4, 2, 1];
      const before = `${bits} <= ${8 * octet} ? 0 : ${bits} >= ${8 * octet + 8} ? 8 : ${bits} - ${8 * octet}`;
      return `(int(self.gateway.split('.')[${octet}]) + ${bit}) % [${sizes.join(', ')}][${before}] == 0`;
    })
    .join(' && ');
const isWithin = 'cidr(self.cidr).containsIP(ip(self.gateway))';

const networkSpecSchema = z
  .object({
    cidr: z.string().max(18).meta({ description: 'IPv4 network such as 10.9.0.0/24.' }),
    gateway: z.string().max(15).meta({ description: 'Address of the bridge, within cidr.' }),
    hosts: z
      .array(
        hostSchema.pick({ ip: true, port: true, user: true }).meta({
          validations: [{ rule: 'isIP(self.ip)', message: 'must be an IP address', fieldPath: '.ip' }],
        }),
      )
      .max(MAX_HOSTS)
      .optional()
      .meta({ description: 'Hosts that get the bridge, by SSH; default: none.', listMapKeys: ['ip'] }),
    credentialsSecret: clusterSchema.shape.credentialsSecret,
  })
  .meta({
    validations: [
      rule(isCidr, 'must be an IPv4 network such as 10.9.0.0/24; IPv6 is not offered yet', '.cidr'),
      rule(
        ofCidr('cidr(self.cidr) == cidr(self.cidr).masked()'),
        'must have no bits set behind its prefix',
        '.cidr',
      ),
      rule(
        ofCidr(`${bits} >= ${PREFIXES.from} && ${bits} <= ${PREFIXES.to}`),
        `must have a prefix of /${PREFIXES.from} to /${PREFIXES.to}`,
        '.cidr',
      ),
      rule(
        ofCidr(
          "!['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/3'].exists(one, cidr(one).containsCIDR(cidr(self.cidr)) || cidr(self.cidr).containsCIDR(cidr(one)))",
        ),
        'must be addresses of hosts, without any of 0.0.0.0/8, loopback, link-local or multicast',
        '.cidr',
      ),
      rule(isGateway, 'must be an IPv4 address such as 10.9.0.1', '.gateway'),
      rule(ofBoth(isWithin), 'must be within spec.cidr', '.gateway'),
      rule(
        ofBoth(`!${isWithin} || !(${isAll(0)})`),
        'must not be the first address of spec.cidr, which is the network itself',
        '.gateway',
      ),
      rule(
        ofBoth(`!${isWithin} || !(${isAll(1)})`),
        'must not be the last address of spec.cidr, which is the broadcast address',
        '.gateway',
      ),
    ],
  });

const networkHostSchema = z.object({
  ip: z.string().max(45),
  port: z.int().optional(),
  user: z.string().max(32).optional(),
  hostKey: z
    .string()
    .max(8192)
    .optional()
    .meta({ description: 'Line of known_hosts, pinned at the first contact.' }),
  reached: z.boolean().optional().meta({ description: 'Whether the controller may have changed the host.' }),
  address: z.string().max(18).optional().meta({ description: 'Address of the bridge.' }),
  message: z.string().max(1024).optional().meta({ description: 'Why the bridge is not ready.' }),
});

const networkStatusSchema = z.object({
  observedGeneration: z.int().optional(),
  bridge: z.string().max(15).optional(),
  hosts: z
    .array(networkHostSchema)
    .max(10 * MAX_HOSTS)
    .meta({ listMapKeys: ['ip'] })
    .optional(),
  conditions: z
    .array(conditionSchema)
    .max(10)
    .meta({ listMapKeys: ['type'] })
    .optional(),
});

export type NetworkSpec = z.infer<typeof networkSpecSchema>;
export type NetworkStatus = z.infer<typeof networkStatusSchema>;
/** Host in status: only a host that is recorded there is ever changed. */
export type NetworkHost = z.infer<typeof networkHostSchema>;
export interface Network extends KubeObject {
  spec: NetworkSpec;
  status?: NetworkStatus;
}

/** Returns the network of an address with a prefix: `10.9.0.1/24` → 10.9.0.0/24. Returns undefined if it is not IPv4. */
export function networkAround(address: string): Cidr | undefined {
  const text = address.includes('/') ? address : `${address}/32`;
  if (!ipaddr.IPv4.isValidCIDRFourPartDecimal(text)) return undefined;
  return [ipaddr.IPv4.networkAddressFromCIDR(text), ipaddr.IPv4.parseCIDR(text)[1]];
}

/** Returns a sentence about a fault that the API server should have refused; undefined if there is none. */
export function flawOf({ cidr, gateway }: NetworkSpec): string | undefined {
  const network = parseCidr(cidr);
  if (network?.[0].kind() !== 'ipv4') return `spec.cidr "${cidr}" is no IPv4 network`;
  if (!ipaddr.IPv4.isValidFourPartDecimal(gateway) || !contains(network, ipaddr.IPv4.parse(gateway)))
    return `spec.gateway "${gateway}" is no address within spec.cidr "${cidr}"`;
  return undefined;
}

export const networkCrd = (): JsonSchema =>
  definitionOf({
    resource: NETWORKS,
    shortName: 'mxn',
    columns: [
      column('CIDR', 'string', '.spec.cidr'),
      column('Gateway', 'string', '.spec.gateway'),
      column('Ready', 'string', '.status.conditions[?(@.type=="Ready")].status'),
      column('Bridge', 'string', '.status.bridge'),
      column('Reason', 'string', '.status.conditions[?(@.type=="Ready")].reason', 1),
      column('Message', 'string', '.status.conditions[?(@.type=="Ready")].message', 1),
      AGE,
    ],
    spec: structuralOf(networkSpecSchema),
    status: structuralOf(networkStatusSchema),
  });
