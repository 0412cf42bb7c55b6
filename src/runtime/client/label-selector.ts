type Labels = Readonly<Record<string, string>>;

/**
 * Whether labels match a selector as the API server reads it: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`,
 * joined by commas; empty matches all. Throws upon anything else. Source: apimachinery pkg/labels/selector.go.
 */
export function matchesSelector(selector: string, labels: Labels = {}): boolean {
  // Commas within parentheses separate values, not requirements.
  const requirements = selector.split(/,(?![^(]*\))/).map((part) => part.trim());
  return requirements.every((requirement) => requirement === '' || matches(requirement, labels));
}

function matches(requirement: string, labels: Labels): boolean {
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(requirement);
  if (set) {
    const [, key = '', operator, list = ''] = set;
    const value = labels[key];
    const found = value !== undefined && list.split(',').some((one) => one.trim() === value);
    return found === (operator === 'in');
  }
  const equality = /^([^\s!=]+)\s*(==|=|!=)\s*([^\s!=]*)$/.exec(requirement);
  if (equality) {
    const [, key = '', operator, value] = equality;
    return (labels[key] === value) === (operator !== '!=');
  }
  const existence = /^(!?)\s*([^\s!=()]+)$/.exec(requirement);
  if (existence) return Object.hasOwn(labels, existence[2] ?? '') === (existence[1] === '');
  throw new TypeError(`'${requirement}' is no label requirement`);
}
