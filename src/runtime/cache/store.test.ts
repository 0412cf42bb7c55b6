import { expect, it } from 'vitest';
import type { KubeObject } from '#api/meta.ts';
import { keyOf, keyText } from './object-key.ts';
import { createStore } from './store.ts';

interface Thing extends KubeObject {
  color?: string;
}
const thing = (name: string, resourceVersion: string, color?: string): Thing => ({
  metadata: { namespace: 'n', name, resourceVersion, uid: name },
  ...(color === undefined ? {} : { color }),
});
const byColor = { color: ({ color }: Thing) => (color ? [color] : []) };
const byKey = (...things: Thing[]) => new Map(things.map((one) => [keyText(keyOf(one)), one]));
const names = (things: Thing[]) => things.map(({ metadata }) => metadata.name);

it('updates its indices with every change', () => {
  const store = createStore<Thing>({ indexers: byColor });
  store.upsert(thing('a', '1', 'red'));
  store.upsert(thing('b', '2', 'red'));
  store.upsert(thing('a', '3', 'blue'));
  expect(names(store.byIndex('color', 'red'))).toEqual(['b']);
  expect(names(store.byIndex('color', 'blue'))).toEqual(['a']);
  store.remove(thing('b', '4'));
  expect(store.byIndex('color', 'red')).toEqual([]);
  store.replace(byKey(thing('c', '5', 'red')));
  expect(names(store.byIndex('color', 'red'))).toEqual(['c']);
  expect(store.byIndex('color', 'blue')).toEqual([]);
  expect(() => store.byIndex('size', 'red')).toThrow(/no index/);
});

it('reports the differences of a replacement, deletions first', () => {
  const store = createStore<Thing>();
  store.replace(byKey(thing('same', '1'), thing('changed', '1'), thing('gone', '1')));
  const changes = store.replace(byKey(thing('same', '1'), thing('changed', '2'), thing('new', '2')));
  expect(changes.map(({ type }) => type)).toEqual(['delete', 'update', 'add']);
});

it('counts an object with the same name and another uid as changed', () => {
  const store = createStore<Thing>();
  store.replace(byKey(thing('a', '1')));
  const namesake = { metadata: { ...thing('a', '1').metadata, uid: 'other' } };
  expect(store.replace(byKey(namesake)).map(({ type }) => type)).toEqual(['update']);
});

it('freezes objects deeply', () => {
  const store = createStore<Thing>();
  store.upsert({ metadata: { namespace: 'n', name: 'a', labels: { x: 'y' } } });
  const labels = store.get({ namespace: 'n', name: 'a' })?.metadata.labels;
  expect(() => Object.assign(labels ?? {}, { x: 'z' })).toThrow(TypeError);
});
