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
  expect(check('upgrade_drain: false')).toThrow('"upgrade_drain" is set for each cluster');
  expect(check('constructor: 1')).toThrow('"constructor" is no variable');
  expect(check('- drain_seconds')).toThrow('--inventory-vars: is no map');
  expect(check('a: [')).toThrow('--inventory-vars: is no YAML');
});

it('names each value that a role would refuse', () => {
  for (const [text, part] of [
    ['drain_seconds: long', '--inventory-vars: drain_seconds is no whole number'],
    ['encryption_algorithm: RSA-1024', 'encryption_algorithm is none of RSA-2048, RSA-3072,'],
    ['drain_force: "yes"', 'drain_force is neither true nor false'],
    ['cert_sans: [1]', 'cert_sans.0 is no text; write it in quotes'],
    ['proxy: http://proxy', 'proxy is no map'],
  ] as const)
    expect(check(text), text).toThrow(part);
});
