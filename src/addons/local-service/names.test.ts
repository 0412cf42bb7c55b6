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

it('names a Service after its node, with dashes for dots', () => {
  expect(named(['k8s03', 'node1.example.com'])).toEqual(['demo-k8s03', 'demo-node1-example-com']);
});

it('shortens a long name with a hash', () => {
  const [short, other] = named([LONG, `${LONG}0`]);
  expect(short).toMatch(/^demo-node[-a-z0-9]*-[a-z0-9]{8}$/);
  expect(short).toHaveLength(63);
  expect(other).not.toBe(short);
});

it('gives different names to nodes that differ only in dots and dashes', () => {
  const [dots, dashes, both] = named(['a.b.c', 'a-b-c', 'a.b-c']);
  expect(dashes).toBe('demo-a-b-c');
  expect([dots, both]).toEqual([shortName('demo', 'a.b.c'), shortName('demo', 'a.b-c')]);
});

it('takes no name of another LocalService', () => {
  expect(named(['b-c'], [], ['demo-b-c'])).toEqual([shortName('demo', 'b-c')]);
  expect(plainName('a', 'b-c')).toBe(plainName('a-b', 'c'));
  expect(shortName('a', 'b-c')).not.toBe(shortName('a-b', 'c'));
});

it('keeps the names of existing Services, plain or not', () => {
  const short = shortName('demo', 'b-c');
  expect(named(['b-c'], [service(short, 'b-c')])).toEqual([short]);
  const dotted = service('demo-a-b', 'a.b');
  expect(named(['a-b', 'a.b'], [dotted])).toEqual([shortName('demo', 'a-b'), 'demo-a-b']);
});

it('does not keep the name of a Service whose label was changed to another node', () => {
  expect(named(['a', 'b'], [service('demo-a', 'b')])).toEqual(['demo-a', 'demo-b']);
});

it('labels pods with the name of the node, shortened if it is too long', () => {
  expect(rackOf('node1.example.com')).toBe('node1.example.com');
  expect(rackOf(LONG)).toHaveLength(63);
  expect(rackOf(LONG)).not.toBe(rackOf(`${LONG}0`));
});
