import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { checkManifests } from './manifests.ts';

const file = (name: string, text: string) => ({ name, content: gzipSync(text).toString('base64') });
const problemsOf = (text: string) => checkManifests([file('addons/a.yaml', text)]).problems;
const object = (kind: string, name: string) => `apiVersion: v1\nkind: ${kind}\nmetadata: {name: ${name}}\n`;

it('counts the objects of each file, including list items, without empty documents', () => {
  const list = `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: p}}\n`;
  const documents = [object('Namespace', 'a'), '# nothing\n', list, object('ConfigMap', 'b')];
  const template = `${object('ConfigMap', 'c')}data:\n  t: "{{ .Values.x }} {% if %}"\n`;
  const seen = checkManifests([
    file('addons/all.yaml', documents.join('---\n')),
    file('more/t.yaml', template),
  ]);
  expect(seen).toEqual({
    files: ['ConfigMap addons, key all.yaml, objects: 3', 'ConfigMap more, key t.yaml, objects: 1'],
    problems: [],
  });
});

it.each([
  [
    'no YAML',
    `${object('Pod', 'a')}---\na: [\n`,
    /^ConfigMap addons, key a\.yaml, document 2: line \d: is no/,
  ],
  ['a tab', 'a:\n\tb: 1\n', /document 1: line 2: is no YAML: /],
  ['no kind', 'metadata: {name: a}\n', /document 1: has no apiVersion or no kind/],
  ['a text', 'hello\n', /document 1: has no apiVersion or no kind/],
  ['no name', 'apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n', /v1 Pod has no metadata\.name/],
  ['nothing', '# nothing\n', /key a\.yaml: holds no object/],
  ['an alias that leads nowhere', 'a: *b\n', /document 1: .*(alias|Alias)/],
])('refuses %s, and reports its position', (_what, text, why) => {
  expect(problemsOf(text).join('; ')).toMatch(why);
});

it('refuses a Secret, also in a list, but not that kind in another API group', () => {
  expect(problemsOf(object('Secret', 'a'))).toEqual([expect.stringContaining('document 1: is a Secret')]);
  const list =
    'apiVersion: v1\nkind: SecretList\nitems: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]';
  expect(problemsOf(list)).toEqual([expect.stringContaining('document 1, item 1: is a Secret')]);
  expect(problemsOf('apiVersion: example.com/v1\nkind: Secret\nmetadata: {name: a}')).toEqual([]);
});

it('names ten problems of a file, and counts the others', () => {
  const problems = problemsOf('a: 1\n---\n'.repeat(13));
  expect(problems).toHaveLength(11);
  expect(problems.at(-1)).toBe('ConfigMap addons, key a.yaml: 3 more problems');
});

it.each([
  [
    'an alias that grows',
    'a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c]\n',
  ],
  ['what is nested deeply', '['.repeat(20_000)],
  ['errors without end', '!!str &a '.repeat(10_000)],
])('refuses %s without hanging', (_what, text) => {
  expect(problemsOf(text).length).toBeGreaterThan(0);
});
