import ipaddr from 'ipaddr.js';
import { z } from 'zod';

/** Formats a host for a URL: an IPv6 address needs brackets there (RFC 3986). */
export const inUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/**
 * Returns the canonical spelling of an address, for comparisons, records and inventories (RFC 5952 for IPv6). Undefined if
 * the text is no IP address; the legacy forms of inet_aton (`10.1`, `0x0a000001`) are not accepted.
 */
export function canonicalIp(text: string): string | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text).toString();
  return ipaddr.IPv6.isValid(text) && !text.includes('%')
    ? ipaddr.IPv6.parse(text).toRFC5952String()
    : undefined;
}

/** DNS label of RFC 1123, as in Kubernetes object names and node names. */
export const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

export const ipSchema = z
  .string()
  .max(45)
  .refine((text) => canonicalIp(text) !== undefined, {
    error: 'is not an IP address; write it like 192.168.1.10',
  })
  .meta({ description: 'IPv4 or IPv6 address' });

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Whether a text is a valid DNS name by RFC 1123. */
export const isDnsName = (text: string): boolean => text.length <= 253 && DNS_SUBDOMAIN.test(text);

/** Whether a text is a qualified name, like keys of labels and taints (kubernetes.io, Labels and Selectors). */
function isQualifiedName(text: string): boolean {
  const [first = '', second, more] = text.split('/');
  if (more !== undefined) return false;
  if (second === undefined) return NAME.test(first);
  return isDnsName(first) && NAME.test(second);
}

const KEY_ERROR =
  'is not a label key; write it like example.com/rack, with at most 63 characters after the "/"';
const VALUE_ERROR =
  'is not a label value; use at most 63 letters, digits, "-", "_" and ".", and a letter or digit at each end';
const labelKeySchema = z.string().max(317).refine(isQualifiedName, { error: KEY_ERROR });
const labelValueSchema = z
  .string()
  .max(63)
  .refine((text) => text === '' || NAME.test(text), { error: VALUE_ERROR });

const taintSchema = z.object({
  key: labelKeySchema.meta({ description: 'Like a label: example.com/dedicated' }),
  value: labelValueSchema.optional().meta({ description: 'Default: none.' }),
  effect: z
    .enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])
    .meta({ description: 'Effect on pods that do not tolerate the taint.' }),
});

export const hostSchema = z
  .object({
    ip: ipSchema,
    role: z.enum(['control-plane', 'secondary-control-plane', 'worker']).optional().meta({
      description:
        'Accepted for clients of kubernetes-operator, without effect: the list that names the host decides.',
    }),
    name: z
      .string()
      .max(63)
      .regex(DNS_SUBDOMAIN, {
        error:
          'is not a DNS name; use lower-case letters, digits, "-" and ".", and a letter or digit at each end of a label',
      })
      .optional()
      .meta({
        description:
          'Name of the host and of its node, at most 63 characters. It never changes. Default: host-<ip with dashes>.',
      }),
    port: z.int().min(1).max(65535).optional().meta({ description: 'SSH port; default 22.' }),
    user: z
      .string()
      .max(64)
      // Directory services have names with dots, capitals and a domain: jay.wren, CORP\ops.
      .regex(/^[A-Za-z0-9_][A-Za-z0-9._\\@-]*$/, {
        error: 'is not a user name; write it like ops or CORP\\ops',
      })
      .optional()
      .meta({
        description: 'SSH user: root, or a user with sudo. Default: the user of the credentials, else root.',
      }),
    labels: z.record(labelKeySchema, labelValueSchema).optional().meta({
      description: 'Labels of the node. An edit changes the node of a joined host.',
    }),
    taints: z.array(taintSchema).max(50).optional().meta({
      description: 'Taints of the node. An edit changes the node of a joined host.',
    }),
    reclaim: z.string().max(40).optional().meta({
      description: 'Id of another cluster. The operation may remove what that cluster left on this host.',
    }),
  })
  .meta({ description: 'A host, reached by SSH' });

export type HostEntry = z.infer<typeof hostSchema>;

/** Returns the node name of a host: the given one, or one from its address. */
export const nodeNameOf = (host: Pick<HostEntry, 'ip' | 'name'>): string =>
  host.name ?? `host-${(canonicalIp(host.ip) ?? host.ip).replaceAll(/[.:]/g, '-')}`;

export const LISTS = ['masterList', 'nodeList', 'etcdList'] as const;
export type ListName = (typeof LISTS)[number];
