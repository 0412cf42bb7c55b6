import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { messageOf, UsageError } from '#base/errors.ts';
import { TEMPLATE } from '#protocol/template.ts';

const optionSchema = z.object({
  type: z.enum(['str', 'int', 'bool', 'dict', 'list']),
  elements: z.enum(['str', 'dict']).optional(),
  choices: z.array(z.string()).optional(),
});
type Option = z.output<typeof optionSchema>;

const specSchema = z.object({
  argument_specs: z.object({ inventory: z.object({ options: z.record(z.string(), optionSchema) }) }),
});

const MAP = z.record(z.string(), z.unknown(), { error: 'is no map' });
const TEXT = z.string({ error: 'is no text; write it in quotes' });
/** Schemas of the types of Ansible, without its conversions. */
const TYPES: Readonly<Record<Option['type'], (option: Option) => z.ZodType>> = {
  str: ({ choices }) =>
    choices === undefined ? TEXT : z.enum(choices, { error: `is none of ${choices.join(', ')}` }),
  int: () => z.int({ error: 'is no whole number' }),
  bool: () => z.boolean({ error: 'is neither true nor false' }),
  dict: () => MAP,
  list: ({ elements }) => z.array(elements === 'dict' ? MAP : TEXT, { error: 'is no list' }),
};

/** Limits of hosts, which are not a variable of a role. */
const LIMITS = 'precheck_limits';
/**
 * Variables of the inventory that a site must not set: each cluster, run or host has its own value. A login would be a secret
 * in a ConfigMap.
 */
const NOT_OF_THE_SITE = [
  ...[
    'cluster_name',
    'cluster_id',
    'kube_version',
    'upgrade_from',
    'pod_cidr',
    'service_cidr',
    'network',
    'made_with',
  ],
  ...['control_plane_endpoint_name', 'control_plane_endpoint_address', 'fence_adopt', 'kubeconfig_file'],
  ...[
    'artifacts_base_url',
    'artifact_files',
    'artifact_images',
    'component_images',
    'registry_login',
    'manifests',
  ],
  ...['operation_sequence', 'operation_attempt', 'pod_uid', 'ip', 'access_ip', 'node_name', 'reclaim'],
  ...['node_labels_before', 'node_taints_before', 'schedulable', 'upgrade_max_unavailable', 'upgrade_drain'],
];

/** Returns the schemas of the variables that a site may set. `argumentSpecs` is the path of the roles' own list. */
export function siteVariables(argumentSpecs: string): Readonly<Record<string, z.ZodType>> {
  const { options } = specSchema.parse(parse(readFileSync(argumentSpecs, 'utf8'))).argument_specs.inventory;
  const ofRoles = Object.entries(options).filter(([name]) => !NOT_OF_THE_SITE.includes(name));
  return {
    ...Object.fromEntries(ofRoles.map(([name, option]) => [name, TYPES[option.type](option)])),
    [LIMITS]: MAP,
  };
}

/**
 * Validates the site's variables, which apply to every run of every cluster: a misspelt one would have no effect and cause
 * no error. `argumentSpecs` is the path of the roles' own list. Throws UsageError that names each wrong one.
 */
export function checkSiteVars(text: string, argumentSpecs: string): void {
  const flag = '--inventory-vars';
  let given: unknown;
  try {
    given = parse(text) ?? {};
  } catch (error) {
    throw new UsageError(`${flag}: is no YAML: ${messageOf(error)}`);
  }
  const vars = z.record(z.string(), z.unknown()).safeParse(given);
  if (!vars.success) throw new UsageError(`${flag}: is no map of variables to their values`);
  const variables = siteVariables(argumentSpecs);
  const wrong = Object.entries(vars.data).flatMap(([name, value]) => {
    if (NOT_OF_THE_SITE.includes(name))
      return [`${flag}: "${name}" is set for each cluster, run or host; leave it out`];
    const schema = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (!schema) return [`${flag}: "${name}" is no variable of the roles (ansible/README.md, Inventory)`];
    const { error } = schema.safeParse(value);
    if (error)
      return error.issues.map(({ path, message }) => `${flag}: ${[name, ...path].join('.')} ${message}`);
    return TEMPLATE.test(JSON.stringify(value))
      ? [`${flag}: ${name} holds {{, {% or {#, which would be read as a template; leave it out`]
      : [];
  });
  if (wrong.length > 0) throw new UsageError(wrong.join('\n'));
}
