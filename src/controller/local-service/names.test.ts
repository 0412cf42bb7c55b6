import { expect, it } from 'vitest';
import { isServiceName, plainName, rackOf, shortName } from './names.ts';

const LONG = `node-${'x'.repeat(80)}.example.com`;

it('calls a Service by its node', () => {
  expect(plainName('demo', 'k8s03')).toBe('demo-k8s03');
  expect(isServiceName('demo-k8s03')).toBe(true);
});

it.each([
  ['dots', 'node1.example.com'],
  ['length', LONG],
])('takes a short form where a node has %s', (_why, node) => {
  expect(isServiceName(plainName('demo', node))).toBe(false);
  const short = shortName('demo', node);
  expect(short).toMatch(/^demo-node[-a-z0-9]*-[a-z0-9]{8}$/);
  expect(isServiceName(short)).toBe(true);
  expect(shortName('demo', `${node}0`)).not.toBe(short);
});

it('tells apart what would read the same', () => {
  expect(plainName('a', 'b-c')).toBe(plainName('a-b', 'c'));
  expect(shortName('a', 'b-c')).not.toBe(shortName('a-b', 'c'));
});

it('labels pods with the name of the node, or with a value that a label can have', () => {
  expect(rackOf('node1.example.com')).toBe('node1.example.com');
  expect(rackOf(LONG)).toHaveLength(63);
  expect(rackOf(LONG)).not.toBe(rackOf(`${LONG}0`));
});
