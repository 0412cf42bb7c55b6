import type { Audit } from '#api/audit.ts';
import type { Problem } from '#base/errors.ts';

const at = (index: number, field: string): string =>
  `spec.cluster.kubeadm.audit.policy.rules[${index}].${field}`;

type Rule = Audit['policy']['rules'][number];

/** Returns what an API server refuses in a policy that matches the schema (k8s.io/apiserver, pkg/apis/audit/validation). */
export const auditProblems = ({ policy: { rules } }: Audit): Problem[] =>
  rules.flatMap((rule, index) => [...pathProblems(rule, index), ...resourceProblems(rule, index)]);

function pathProblems(
  { nonResourceURLs = [], resources = [], namespaces = [] }: Rule,
  index: number,
): Problem[] {
  const problems = nonResourceURLs.flatMap((path, place): Problem[] => {
    if (path === '*' || /^\/[^*]*\*?$/.test(path)) return [];
    const reason = 'is no path; begin it with "/", and write "*" at its end only';
    return [{ field: at(index, `nonResourceURLs[${place}]`), value: path, reason }];
  });
  if (nonResourceURLs.length > 0 && resources.length + namespaces.length > 0) {
    const reason = 'cannot stand beside resources or namespaces; make two rules of it';
    problems.push({ field: at(index, 'nonResourceURLs'), reason });
  }
  return problems;
}

function resourceProblems({ resources = [] }: Rule, index: number): Problem[] {
  return resources.flatMap(({ group = '', resources: names = [], resourceNames = [] }, place): Problem[] => {
    const field = at(index, `resources[${place}]`);
    const problems: Problem[] = [];
    if (group !== '' && !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(group))
      problems.push({
        field: `${field}.group`,
        value: group,
        reason: 'is no API group; write it without version, like apps',
      });
    for (const name of names) {
      if (name === '' || /^(\*|[^/*]+)(\/(\*|[^/*]+))?$/.test(name)) continue;
      const reason = 'is no resource; write it like pods, pods/log, pods/* or */scale';
      problems.push({ field: `${field}.resources`, value: name, reason });
    }
    if (resourceNames.length > 0 && names.length === 0)
      problems.push({ field: `${field}.resourceNames`, reason: 'needs resources beside it; name them' });
    return problems;
  });
}
