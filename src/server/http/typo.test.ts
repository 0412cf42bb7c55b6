import { expect, it } from 'vitest';
import { isTypoOf } from './typo.ts';

it.each<[string, string, boolean]>([
  ['podCidr', 'podCIDR', true],
  ['pod_cidr', 'podCIDR', true],
  ['podCIRD', 'podCIDR', true],
  ['podCDR', 'podCIDR', true],
  ['serviceCidrs', 'serviceCIDR', true],
  ['regoin', 'region', true],
  ['description', 'region', false],
  ['replicas', 'region', false],
  ['shoeSize', 'deployMode', false],
])('decides whether %s is a typo of %s', (name, known, expected) => {
  expect(isTypoOf(name, known)).toBe(expected);
});
