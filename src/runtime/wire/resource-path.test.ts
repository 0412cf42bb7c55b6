import { expect, it } from 'vitest';
import type { Resource } from '#api/meta.ts';
import { queryString, resourcePath } from './resource-path.ts';

const JOBS: Resource = { group: 'batch', version: 'v1', kind: 'Job', plural: 'jobs', namespaced: true };
const NODES: Resource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };

it('builds paths in both API roots, with and without a namespace', () => {
  expect(resourcePath(JOBS, { namespace: 'a', name: 'b', subresource: 'status' })).toBe(
    '/apis/batch/v1/namespaces/a/jobs/b/status',
  );
  expect(resourcePath(JOBS, {})).toBe('/apis/batch/v1/jobs');
  expect(resourcePath(NODES, { namespace: '', name: 'n' })).toBe('/api/v1/nodes/n');
});

it.each(['', '.', '..', 'a/b', 'a%2fb'])('refuses the name %j, which would be another path', (name) => {
  expect(() => resourcePath(NODES, { name })).toThrow(/cannot be a name/);
});

it('refuses a namespaced object without its namespace', () => {
  expect(() => resourcePath(JOBS, { name: 'b' })).toThrow(/namespace/);
});

it('omits unset fields from a query', () => {
  expect(queryString({ a: undefined, b: '', c: true, d: 'x=y,z' })).toBe('?c=true&d=x%3Dy%2Cz');
  expect(queryString({})).toBe('');
});
