import { writeFileSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import { z } from 'zod';
import { addons } from '#addons/index.ts';
import { hostCrd, kubernetesClusterCrd } from '#api/crd.ts';
import { isJsonSchema, type JsonSchema } from '#api/structural-schema.ts';
import { fleetMetrics } from '#controller/cluster/metrics.ts';
import { ERRORS } from '#rest/errors.ts';
import { createMetrics } from '#runtime/process/metrics.ts';
import { requestMetrics } from '#server/http/request-metrics.ts';
import { CONNECTION, EXIT_MEANINGS, examplesOf } from '../../src/cli/client-command.ts';
import { clientCommands } from '../../src/cli/commands/index.ts';
import * as commands from '../../src/command-config.ts';
import * as programs from '../../src/config.ts';
import { optionsOf } from '../../src/options.ts';

/**
 * Generates the pages of docs/reference that follow from schemas: `node docs/site/generate.ts`. A test compares them with the
 * files.
 */

const NOTE = 'This page is generated from the source (`node docs/site/generate.ts`). Do not edit it.';

/** Reads a path of keys in a parsed schema. */
function at(schema: unknown, ...keys: (string | number)[]): unknown {
  let found: unknown = schema;
  for (const key of keys) {
    if (Array.isArray(found) && typeof key === 'number') found = found[key];
    else found = isJsonSchema(found) ? found[key] : undefined;
  }
  return found;
}

const sentence = (text: string): string => (/[.!?)]$/.test(text) ? text : `${text}.`);

/** Returns the type of a field in a few words: `string`, `list of objects`, one of its values. */
function typeOf(schema: JsonSchema): string {
  const { type, enum: values, items, additionalProperties } = schema;
  if (Array.isArray(values))
    return `one of ${values.map((value) => `\`${String(value) || '""'}\``).join(', ')}`;
  if (schema['x-kubernetes-int-or-string'] === true) return 'integer or string';
  if (type === 'array' && isJsonSchema(items))
    return items['enum'] ? `list of values, each ${typeOf(items)}` : `list of ${typeOf(items)}s`;
  if (isJsonSchema(additionalProperties)) return `map of ${typeOf(additionalProperties)}s`;
  return typeof type === 'string' ? type : 'any value';
}

/** Returns the schema whose fields a reader sees behind `[]` or a key of a map. */
function inside(schema: JsonSchema): [suffix: string, schema: JsonSchema] | undefined {
  if (isJsonSchema(schema['properties'])) return ['', schema];
  const { items, additionalProperties } = schema;
  if (isJsonSchema(items) && isJsonSchema(items['properties'])) return ['[]', items];
  if (isJsonSchema(additionalProperties) && isJsonSchema(additionalProperties['properties']))
    return ['.*', additionalProperties];
  return undefined;
}

/** Lists the fields of an object, then each object below it under a heading. Equal objects are listed once. */
function fieldsOf(path: string, schema: JsonSchema, listed: Map<string, string>): string[] {
  const properties = schema['properties'];
  if (!isJsonSchema(properties)) return [];
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const lines: string[] = [];
  const below: string[] = [];
  for (const [name, field] of Object.entries(properties)) {
    if (!isJsonSchema(field)) continue;
    const facts = [typeOf(field)];
    if (required.includes(name)) facts.push('required');
    if (field['default'] !== undefined) facts.push(`default \`${JSON.stringify(field['default'])}\``);
    const description = typeof field['description'] === 'string' ? ` ${sentence(field['description'])}` : '';
    const inner = inside(field);
    const known = inner && listed.get(JSON.stringify(inner[1]['properties']));
    const same = known === undefined ? '' : ` Fields as in \`${known}\`.`;
    const text = `${description}${same}`;
    lines.push(`- \`${name}\` (${facts.join('; ')})${text === '' ? '' : `:${text}`}`);
    // An operation has a copy of the spec.
    if (inner === undefined || known !== undefined || `${path}.${name}`.endsWith('status.operation.spec'))
      continue;
    const innerPath = `${path}.${name}${inner[0]}`;
    listed.set(JSON.stringify(inner[1]['properties']), innerPath);
    below.push(...fieldsOf(innerPath, inner[1], listed));
  }
  return [`### ${path}`, '', ...lines, '', ...below];
}

function fieldsPage(): string {
  const kinds = [kubernetesClusterCrd, hostCrd, ...addons.flatMap(({ crds }) => crds)].map((crd) => crd());
  const sections = kinds.flatMap((crd) => {
    const kind = String(at(crd, 'spec', 'names', 'kind'));
    const group = String(at(crd, 'spec', 'group'));
    const version = at(crd, 'spec', 'versions', 0);
    const properties = at(version, 'schema', 'openAPIV3Schema', 'properties');
    const listed = new Map<string, string>();
    const parts = ['spec', 'status'].flatMap((part) => {
      const schema = at(properties, part);
      return isJsonSchema(schema) ? fieldsOf(`${kind}.${part}`, schema, listed) : [];
    });
    return [`## ${kind}`, '', `\`${group}/${String(at(version, 'name'))}\``, '', ...parts];
  });
  return [
    '# Fields of all kinds',
    '',
    'All fields of the objects that Matryoshka defines, with type, default and meaning.',
    `${NOTE}`,
    '',
    ...sections,
  ].join('\n');
}

/** Replaces defaults that depend on the machine which generates the page. */
const withoutMachine = (description: string): string =>
  description.replaceAll(`${homedir()}/`, '~/').replace(JSON.stringify(hostname()), 'the host name');

/** Each program with its schema; a new schema without a name here fails the test. */
const TITLES: Readonly<Record<string, string>> = {
  controllerConfig: 'matryoshka controller',
  serverConfig: 'matryoshka server',
  webhookConfig: 'matryoshka webhook',
  workspaceServerConfig: 'matryoshka workspace-server',
  ingressProxyConfig: 'matryoshka ingress-proxy',
  artifactsConfig: 'matryoshka artifacts serve',
  listConfig: 'matryoshka artifacts list',
  pullConfig: 'matryoshka artifacts pull',
  checkConfig: 'matryoshka artifacts check',
  siteConfig: 'matryoshka artifacts site',
  precheckConfig: 'matryoshka precheck',
  bootstrapConfig: 'matryoshka bootstrap',
  backupConfig: 'matryoshka backup',
};

/** Schemas of commands on the page of the command line. */
const ON_COMMAND_LINE = new Set(['restoreConfig']);

function configurationPage(): string {
  const schemas = new Map<string, unknown>(Object.entries({ ...programs, ...commands }));
  for (const [name, schema] of schemas)
    if (schema instanceof z.ZodObject && !Object.hasOwn(TITLES, name) && !ON_COMMAND_LINE.has(name))
      throw new Error(`docs/site/generate.ts has no title for ${name}`);
  const sections = Object.entries(TITLES).flatMap(([name, title]) => {
    const schema = schemas.get(name);
    if (!(schema instanceof z.ZodObject)) throw new Error(`${name} is not a schema`);
    const options = optionsOf(schema).map(
      ({ long, description, envVar }) =>
        `- \`${long}\` (\`${envVar}\`): ${sentence(withoutMachine(description))}`,
    );
    return [`## ${title}`, '', ...options, ''];
  });
  return [
    '# Flags and environment variables',
    '',
    'Each program takes a flag or the environment variable behind it. The flag wins.',
    `${NOTE}`,
    '',
    ...sections,
  ].join('\n');
}

function errorsPage(): string {
  return [
    '# Errors',
    '',
    'All errors of the REST API, by the name that `type` has in problem details',
    '([REST](rest.md#errors)).',
    `${NOTE}`,
    '',
    '| name | status | meaning | what to do |',
    '|---|---|---|---|',
    ...Object.entries(ERRORS).map(
      ([kind, { status, title, advice }]) => `| \`${kind}\` | ${status} | ${title} | ${advice} |`,
    ),
    '',
  ].join('\n');
}

/** Commands are listed here and not called. */
const NO_META_CLUSTER = { loadBackup: async () => {}, inspect: async () => [] };

function commandLinePage(): string {
  const sections = clientCommands(NO_META_CLUSTER).flatMap((command) => {
    const args = command.registeredArguments.map((one) =>
      one.required ? `<${one.name()}>` : `[${one.name()}]`,
    );
    const own = command.options.filter((option) => !CONNECTION.has(option.attributeName()));
    const examples = examplesOf(command);
    return [
      `## ${command.name()}`,
      '',
      sentence(command.summary()),
      '',
      `    matryoshka ${[command.name(), ...args].join(' ')}`,
      '',
      ...own.map(({ flags, description }) => `- \`${flags}\`: ${sentence(description)}`),
      ...(own.length > 0 ? [''] : []),
      examples.length === 1 ? 'Example:' : 'Examples:',
      '',
      ...examples.map((line) => `    ${line}`),
      '',
    ];
  });
  const connection = clientCommands(NO_META_CLUSTER)[1]?.options.filter((option) =>
    CONNECTION.has(option.attributeName()),
  );
  return [
    '# Command line',
    '',
    'All commands of `matryoshka` for clusters, with their flags.',
    `${NOTE}`,
    '',
    '[Use the command line](../tasks/command-line.md) shows how to begin.',
    '',
    '## Flags of all commands',
    '',
    'They may stand before the command too.',
    '',
    ...(connection ?? []).map(
      ({ flags, envVar, description }) => `- \`${flags}\` (\`${envVar}\`): ${sentence(description)}`,
    ),
    '',
    '## Exit codes',
    '',
    '| code | meaning |',
    '|---|---|',
    ...Object.entries(EXIT_MEANINGS).map(([code, meaning]) => `| ${code} | ${meaning} |`),
    '',
    ...sections,
  ].join('\n');
}

async function metricsPage(): Promise<string> {
  const { registry } = createMetrics({ defaults: false });
  requestMetrics(registry);
  fleetMetrics(registry, {
    clusters: { list: () => [], addHandler: () => () => {} },
    hosts: { list: () => [] },
    isLeading: () => true,
  });
  const rows = (await registry.getMetricsAsJSON()).map(
    ({ name, help, type }) => `| \`${name}\` | ${type} | ${help} |`,
  );
  return [
    '# Metrics',
    '',
    'Each program serves Prometheus metrics at `/metrics` of its probe port. Beside these it serves the',
    'metrics of its process (`process_*`, `nodejs_*`). `ingress-proxy` also serves the metrics of HAProxy.',
    `${NOTE}`,
    '',
    '| metric | type | meaning |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

/** Returns the text of each generated page by its name below docs/reference. */
export async function generatedPages(): Promise<Readonly<Record<string, string>>> {
  return {
    'fields.md': fieldsPage(),
    'configuration.md': configurationPage(),
    'command-line.md': commandLinePage(),
    'errors.md': errorsPage(),
    'metrics.md': await metricsPage(),
  };
}

if (import.meta.main) {
  for (const [name, text] of Object.entries(await generatedPages()))
    writeFileSync(new URL(`../reference/${name}`, import.meta.url), text);
}
