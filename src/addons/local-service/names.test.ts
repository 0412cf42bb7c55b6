import { expect, it } from 'vitest';
import type { Node, Service } from '#api/core.ts';
import { RACK_LABEL } from './api.ts';
import { plainName, rackOf, serviceNames, shortName } from './names.ts';

const LONG = `node-${'x'.repeat(80)}.example.com`;
const node = (name: string): Node => ({ metadata: { name } });
const service = (name: string, of: string): Service => ({
  metadata: { name, labels: { [RACK_LABEL]: rackOf(of) } },
});
/** Returns the names of the Services of `demo`, in the order of the nodes. */
const named = (nodes: readonly string[], mine: readonly Service[] = [], others: readonly string[] = []) => {
  const seen = { nodes: nodes.map(node), mine, isAnothers: (name: string) => others.includes(name) };
  const names = serviceNames('demo', seen);
  return nodes.map((one) => names.get(one));
};

it('calls a Service by its node, with dashes in place of dots', () => {
  expect(named(['k8s03', 'node1.example.com'])).toEqual(['demo-k8s03', 'demo-node1-example-com']);
});

it('takes a name with a hash where the plain one is too long', () => {
  const [short, other] = named([LONG, `${LONG}0`]);
  expect(short).toMatch(/^demo-node[-a-z0-9]*-[a-z0-9]{8}$/);
  expect(short).toHaveLength(63);
  expect(other).not.toBe(short);
});

it('tells apart nodes that differ in dots and dashes alone', () => {
  const [dots, dashes, both] = named(['a.b.c', 'a-b-c', 'a.b-c']);
  expect(dashes).toBe('demo-a-b-c');
  expect([dots, both]).toEqual([shortName('demo', 'a.b.c'), shortName('demo', 'a.b-c')]);
});

it('takes no name that another LocalService has', () => {
  expect(named(['b-c'], [], ['demo-b-c'])).toEqual([shortName('demo', 'b-c')]);
  expect(plainName('a', 'b-c')).toBe(plainName('a-b', 'c'));
  expect(shortName('a', 'b-c')).not.toBe(shortName('a-b', 'c'));
});

it('keeps the names of Services that are there, plain or not', () => {
  const short = shortName('demo', 'b-c');
  expect(named(['b-c'], [service(short, 'b-c')])).toEqual([short]);
  const dotted = service('demo-a-b', 'a.b');
  expect(named(['a-b', 'a.b'], [dotted])).toEqual([shortName('demo', 'a-b'), 'demo-a-b']);
});

it('does not keep the name of a Service whose label was changed to another node', () => {
  expect(named(['a', 'b'], [service('demo-a', 'b')])).toEqual(['demo-a', 'demo-b']);
});

it('labels pods with the name of the node, or with a value that a label can have', () => {
  expect(rackOf('node1.example.com')).toBe('node1.example.com');
  expect(rackOf(LONG)).toHaveLength(63);
  expect(rackOf(LONG)).not.toBe(rackOf(`${LONG}0`));
});
