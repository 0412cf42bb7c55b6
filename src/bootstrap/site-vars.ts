import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { messageOf, UsageError } from '#base/errors.ts';
import { TEMPLATE } from '#protocol/template.ts';

const optionSchema = z.object({ type: z.enum(['str', 'int', 'bool', 'dict', 'list']) });
type VariableType = z.output<typeof optionSchema>['type'];

const specSchema = z.object({
  argument_specs: z.object({ inventory: z.object({ options: z.record(z.string(), optionSchema) }) }),
});
/** Limits of hosts, which are not a variable of a role. */
const LIMITS = 'precheck_limits';
/**
 * Variables of the inventory that a site must not set: each cluster, run or host has its own value, which takes precedence.
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
  ...['node_labels_before', 'node_taints_before'],
];

/** Returns the variables that a site may set, with their types. `argumentSpecs` is the path of the roles' own list. */
export function siteVariables(argumentSpecs: string): Readonly<Record<string, VariableType>> {
  const { options } = specSchema.parse(parse(readFileSync(argumentSpecs, 'utf8'))).argument_specs.inventory;
  const ofRoles = Object.entries(options).filter(([name]) => !NOT_OF_THE_SITE.includes(name));
  return { ...Object.fromEntries(ofRoles.map(([name, { type }]) => [name, type])), [LIMITS]: 'dict' };
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
    if (!Object.hasOwn(variables, name))
      return [`${flag}: "${name}" is no variable of the roles (ansible/README.md, Inventory)`];
    return TEMPLATE.test(JSON.stringify(value))
      ? [`${flag}: ${name} holds {{, {% or {#, which would be read as a template; leave it out`]
      : [];
  });
  if (wrong.length > 0) throw new UsageError(wrong.join('\n'));
}
