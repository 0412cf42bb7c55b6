import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkSiteVars } from './site-vars.ts';

const check = (text: string) => () =>
  checkSiteVars(text, join(import.meta.dirname, '../../ansible/roles/settings/meta/argument_specs.yml'));

it('accepts role variables, limits of the precheck, and an empty text', () => {
  for (const text of ['', '{}', 'drain_seconds: 300\nprecheck_limits: {cpus: 1}\n'])
    expect(check(text), text).not.toThrow();
});

it('names each variable that would have no effect or another meaning', () => {
  const text = 'drain_second: 300\nansible_user: me\nkubelet_config: {clusterDomain: "{{ domain }}"}\n';
  for (const part of [
    '"drain_second" is no variable',
    '"ansible_user" is no variable',
    'kubelet_config holds {{',
  ])
    expect(check(text)).toThrow(part);
  expect(check('network: flannel-policies')).toThrow('"network" is set for each cluster');
  expect(check('constructor: 1')).toThrow('"constructor" is no variable');
  expect(check('- drain_seconds')).toThrow('--inventory-vars: is no map');
  expect(check('a: [')).toThrow('--inventory-vars: is no YAML');
});
