/** The schema of a request's body, from the OpenAPI document of the server. */

import { at, isRecord, type Json } from './json.ts';

export interface FieldSchema {
  name: string;
  kind: 'text' | 'secret' | 'choice' | 'switch' | 'number' | 'hosts' | 'host' | 'json';
  description: string;
  choices: readonly string[];
  isRequired: boolean;
}

let document: Promise<unknown> | undefined;
const openApi = (): Promise<unknown> => {
  document ??= fetch('/docs/json')
    .then((answer) => answer.json())
    .catch((error: unknown) => {
      // The next form asks again.
      document = undefined;
      throw error;
    });
  return document;
};

/** Follows `$ref` to the components of the document. */
function resolved(root: unknown, schema: unknown): Json {
  const reference = at(schema, '$ref');
  if (typeof reference !== 'string') return isRecord(schema) ? schema : {};
  const parts = reference.replace('#/', '').split('/');
  const { description } = isRecord(schema) ? schema : {};
  const target = parts.reduce<unknown>(at, root);
  return { ...resolved(root, target), ...(description === undefined ? {} : { description }) };
}

const hasIp = (schema: Json): boolean => isRecord(at(at(schema, 'properties'), 'ip'));

function kindOf(root: unknown, name: string, schema: Json): FieldSchema['kind'] {
  if (name === 'privateSSHKey') return 'secret';
  if (Array.isArray(schema['enum'])) return 'choice';
  if (schema['type'] === 'boolean') return 'switch';
  if (schema['type'] === 'integer' || schema['type'] === 'number') return 'number';
  if (schema['type'] === 'array' && hasIp(resolved(root, schema['items']))) return 'hosts';
  if (schema['type'] === 'object' || isRecord(schema['properties'])) return hasIp(schema) ? 'host' : 'json';
  return schema['type'] === 'array' ? 'json' : 'text';
}

/** Fields that the page fills in itself. */
const OWN = new Set(['name', 'namespace', 'region', 'plan', 'retry']);

/** Leaves out sentences about `retry`: the page has a button for it. */
const forPeople = (description: string): string =>
  description
    .split(/(?<=\.)\s+/)
    .filter((sentence) => !/\bretry\b/i.test(sentence))
    .join(' ');

function routeIn(root: unknown, operationId: string): unknown {
  const paths = at(root, 'paths');
  return Object.values(isRecord(paths) ? paths : {})
    .flatMap((path) => Object.values(isRecord(path) ? path : {}))
    .find((operation) => at(operation, 'operationId') === operationId);
}

/** Returns what a route does, in a sentence or two. */
export async function descriptionOf(operationId: string): Promise<string> {
  const description = at(routeIn(await openApi(), operationId), 'description');
  return typeof description === 'string' ? forPeople(description) : '';
}

/** Returns the fields of the body of a route, by its operationId. One with a single choice is left out. */
export async function fieldsOf(operationId: string): Promise<FieldSchema[]> {
  const root = await openApi();
  const route = routeIn(root, operationId);
  const content = at(at(at(at(route, 'requestBody'), 'content'), 'application/json'), 'schema');
  const body = resolved(root, content);
  const required = Array.isArray(body['required']) ? body['required'] : [];
  return Object.entries(isRecord(body['properties']) ? body['properties'] : {})
    .filter(([name]) => !OWN.has(name))
    .map(([name, value]) => {
      const schema = resolved(root, value);
      return {
        name,
        kind: kindOf(root, name, schema),
        description: typeof schema['description'] === 'string' ? forPeople(schema['description']) : '',
        choices: Array.isArray(schema['enum']) ? schema['enum'].map(String) : [],
        isRequired: required.includes(name),
      };
    })
    .filter(({ kind, choices }) => kind !== 'choice' || choices.length > 1);
}
