import { expect, it } from 'vitest';
import type { Patch } from '#api/patches.ts';
import { patchProblems } from './validate-patches.ts';

const argument = { op: 'add', path: '/spec/containers/0/command/-', value: '--profiling=false' } as const;

it.each<[string, Patch]>([
  ['an argument', { target: 'kube-apiserver', json: [argument] }],
  ['resources', { target: 'etcd', strategic: { spec: { containers: [{ name: 'etcd', resources: {} }] } } }],
  ['an annotation', { target: 'kube-scheduler', merge: { metadata: { annotations: { a: 'b' } } } }],
  ['what goes', { target: 'kube-scheduler', json: [{ op: 'remove', path: '/spec/containers/0/command/3' }] }],
  [
    'a probe',
    {
      target: 'etcd',
      strategic: { spec: { containers: [{ name: 'etcd', livenessProbe: { exec: { command: ['true'] } } }] } },
    },
  ],
])('accepts a patch of %s', (_, patch) => {
  expect(patchProblems([patch])).toEqual([]);
});

it.each<[string, Patch, string, RegExp]>([
  ['nothing', { target: 'etcd' }, '', /has no patch; write one of strategic, merge, json/],
  ['two ways', { target: 'etcd', merge: {}, json: [argument] }, '', /has merge and json; write one/],
  [
    'no pointer',
    { target: 'etcd', json: [{ op: 'remove', path: 'spec' }] },
    '.json[0].path',
    /is no JSON pointer/,
  ],
  [
    'no value',
    { target: 'etcd', json: [{ op: 'add', path: '/a' }] },
    '.json[0].value',
    /is required for "add"/,
  ],
  [
    'no from',
    { target: 'etcd', json: [{ op: 'move', path: '/a' }] },
    '.json[0].from',
    /is required for "move"/,
  ],
  [
    'the whole command',
    {
      target: 'kube-apiserver',
      strategic: { spec: { containers: [{ name: 'kube-apiserver', command: ['x'] }] } },
    },
    '.strategic',
    /would replace the whole command/,
  ],
  [
    'the whole command by its path',
    { target: 'kube-apiserver', json: [{ op: 'replace', path: '/spec/containers/0/command', value: [] }] },
    '.json',
    /would replace the whole command/,
  ],
  [
    'all containers',
    { target: 'etcd', merge: { spec: { containers: [{ name: 'etcd' }] } } },
    '.merge',
    /whole command/,
  ],
  ['no spec', { target: 'etcd', merge: { spec: null } }, '.merge', /whole command/],
  [
    'a directive',
    { target: 'etcd', strategic: { spec: { $patch: 'replace' } } },
    '.strategic',
    /whole command/,
  ],
  [
    'a command that is moved',
    { target: 'etcd', json: [{ op: 'move', from: '/spec/containers/0/command', path: '/metadata/x' }] },
    '.json',
    /whole command/,
  ],
])('refuses a patch of %s', (_, patch, field, says) => {
  expect(patchProblems([{ target: 'etcd', merge: {} }, patch])).toEqual([
    expect.objectContaining({
      field: `spec.cluster.kubeadm.patches[1]${field}`,
      reason: expect.stringMatching(says),
    }),
  ]);
});
