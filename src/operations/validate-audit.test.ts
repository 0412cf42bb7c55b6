import { expect, it } from 'vitest';
import { type Audit, auditSchema } from '#api/audit.ts';
import { auditProblems } from './validate-audit.ts';

type Rule = Partial<Audit['policy']['rules'][number]>;
const fieldsOf = (rule: Rule) =>
  auditProblems({ policy: { rules: [{ level: 'None' }, { level: 'Metadata', ...rule }] } }).map(({ field }) =>
    field.replace('spec.cluster.kubeadm.audit.policy.rules[1].', ''),
  );

it.each<Rule>([
  { nonResourceURLs: ['/healthz*', '*', '/version'] },
  { resources: [{ group: '', resources: ['secrets', 'pods/*', '*/scale', '*'] }, { group: 'apps' }] },
  { resources: [{ resources: ['configmaps'], resourceNames: ['one'] }], namespaces: ['kube-system', ''] },
])('accepts %j', (rule) => {
  expect(fieldsOf(rule)).toEqual([]);
});

it.each<[Rule, string[]]>([
  [{ nonResourceURLs: ['healthz', '/a*b'] }, ['nonResourceURLs[0]', 'nonResourceURLs[1]']],
  [{ nonResourceURLs: ['/a'], namespaces: ['b'] }, ['nonResourceURLs']],
  [{ resources: [{ group: 'apps/v1' }] }, ['resources[0].group']],
  [{ resources: [{ resources: ['a/b/c', 'p*'] }] }, ['resources[0].resources', 'resources[0].resources']],
  [{ resources: [{ resourceNames: ['x'] }] }, ['resources[0].resourceNames']],
])('refuses %j, with which no API server starts', (rule, fields) => {
  expect(fieldsOf(rule)).toEqual(fields);
});

it('drops unknown fields, and refuses unknown levels and an empty policy', () => {
  expect(auditSchema.safeParse({ policy: { rules: [] } }).success).toBe(false);
  expect(auditSchema.safeParse({ policy: { rules: [{ level: 'All' }] } }).success).toBe(false);
  expect(auditSchema.parse({ policy: { rules: [{ level: 'None', omitStage: ['Panic'] }] } })).toEqual({
    policy: { rules: [{ level: 'None' }] },
  });
});
