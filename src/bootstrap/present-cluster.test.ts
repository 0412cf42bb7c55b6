import { describe, expect, it } from 'vitest';
import { presentIn, presentOn, versionFor } from './present-cluster.ts';

const at = (version: string | undefined) => (version === undefined ? undefined : { version });
const covered: [string, ...string[]] = ['v1.36.3', 'v1.35.4', 'v1.34.4'];

describe('the version of the meta cluster', () => {
  it.each<[string | undefined, string | undefined, string]>([
    [undefined, undefined, 'v1.36.3'],
    [undefined, 'v1.34.4', 'v1.34.4'],
    ['v1.34.4', undefined, 'v1.35.4'],
    ['v1.35.4', undefined, 'v1.36.3'],
    ['v1.36.3', undefined, 'v1.36.3'],
    ['v1.34.4', 'v1.34.4', 'v1.34.4'],
    ['v1.37.0', undefined, 'v1.37.0'],
  ])('that has %s, with --kube-version %s, is %s', (present, wanted, expected) => {
    expect(versionFor(at(present), wanted, covered)).toBe(expected);
  });

  it.each<[string | undefined, string, string]>([
    ['v1.34.4', 'v1.36.3', 'v1.36.3 skips a minor version after v1.34.4'],
    ['v1.35.4', 'v1.34.4', 'Kubernetes supports no downgrade to v1.34.4; choose v1.36.3'],
    [undefined, 'v1.33.1', 'the artifacts have no files of v1.33.1; they have v1.36.3, v1.35.4, v1.34.4'],
  ])('that has %s is not %s', (present, wanted, reason) => {
    expect(() => versionFor(at(present), wanted, covered)).toThrow(`--kube-version: `);
    expect(() => versionFor(at(present), wanted, covered)).toThrow(reason);
  });
});

describe('the answer of the host', () => {
  it.each<[string, ReturnType<typeof presentIn>]>([
    ['', undefined],
    ['made\nversion v1.34.4\n', { version: 'v1.34.4', endsSoon: false, masters: [] }],
    ['made\nversion v1.34.4\nends pki/ca.crt\n', { version: 'v1.34.4', endsSoon: true, masters: [] }],
    [
      'made\nversion v1.35.4\nformer v1.34.4\n',
      { version: 'v1.34.4', unfinishedTo: 'v1.35.4', endsSoon: false, masters: [] },
    ],
    ['made\nversion v1.34.4\nformer v1.34.4\n', { version: 'v1.34.4', endsSoon: false, masters: [] }],
    ['made\nformer v1.34.4\n', { version: 'v1.34.4', endsSoon: false, masters: [] }],
  ])('%j', (answer, expected) => {
    expect(presentIn(answer)).toEqual(expected);
  });

  it('without a version is an error, if there is a cluster', () => {
    expect(() => presentIn('made\n')).toThrow('kube-apiserver.yaml is missing');
  });

  it('of an unfinished upgrade decides, and another version is refused', () => {
    const unfinished = { version: 'v1.34.4', unfinishedTo: 'v1.35.4' };
    expect(versionFor(unfinished, undefined, covered)).toBe('v1.35.4');
    expect(() => versionFor(unfinished, 'v1.34.4', covered)).toThrow(
      'an upgrade of the meta cluster to v1.35.4',
    );
  });
});

describe('a meta cluster of several hosts', () => {
  const made = { version: 'v1.34.4', endsSoon: false, masters: ['a'] };
  const all = ['a', 'b', 'c'];

  it('begins on the first one, and gets those that it lacks', () => {
    expect(presentOn([undefined, undefined, undefined], all)).toBeUndefined();
    expect(presentOn([made, undefined, undefined], all)).toEqual({ ...made, hosts: [0] });
    expect(() => presentOn([undefined, made, undefined], all)).toThrow('the first host has lost');
  });

  it('is not changed in part', () => {
    expect(() => presentOn([{ ...made, masters: all }], ['a'])).toThrow(
      '--host: the meta cluster also has b, c; name all of its hosts',
    );
  });

  it('has an unfinished upgrade and certificates that end soon if one of them has', () => {
    const upgraded = { ...made, unfinishedTo: 'v1.35.4' };
    const soon = { ...made, endsSoon: true };
    const expected = { ...made, unfinishedTo: 'v1.35.4', endsSoon: true, hosts: [0, 1, 2] };
    expect(presentOn([made, upgraded, soon], all)).toEqual(expected);
    // One of them was left behind.
    expect(presentOn([{ ...made, version: 'v1.35.4' }, made, soon], all)).toEqual(expected);
  });

  it('takes no host of another cluster', () => {
    expect(() => presentIn('owned other\n')).toThrow('the host belongs to cluster other');
  });
});
