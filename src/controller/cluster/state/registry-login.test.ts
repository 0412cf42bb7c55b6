import { describe, expect, it } from 'vitest';
import { secretData } from '#api/core.ts';
import { Refusal } from '../decide/refusal.ts';
import { loginIn } from './registry-login.ts';

const secretWith = (text?: string) => ({
  metadata: { namespace: 'default', name: 'keys' },
  data: secretData({ '.dockerconfigjson': text }),
});
const AUTH = Buffer.from('puller:hunter2').toString('base64');

describe('the registry login', () => {
  it.each([
    ['base64 of both', `{"auths": {"registry.example.com": {"auth": "${AUTH}"}}}`],
    [
      'user and password',
      '{"auths": {"https://index.docker.io/v1/": {"username": "a", "password": "b", "email": ""}}}',
    ],
    ['nobody', '{"auths": {}}'],
  ])('is the text of the Secret: %s', (_, text) => {
    expect(loginIn(secretWith(text), 'keys')).toBe(text);
  });

  it('is empty if the Secret has no text', () => {
    expect(loginIn(secretWith(), 'keys')).toBe('');
  });

  it.each([
    ['no JSON', 'hunter2'],
    ['no auths', '{"registry.example.com": {"auth": "hunter2"}}'],
    ['what is no base64', '{"auths": {"registry.example.com": {"auth": "puller:hunter2"}}}'],
    ['no password', '{"auths": {"registry.example.com": {"username": "hunter2"}}}'],
    ['too much', `{"auths": {"hunter2": {"auth": "${'QUFB'.repeat(17_000)}"}}}`],
  ])('is refused with key and Secret, but without the value: %s', (_, text) => {
    const attempt = () => loginIn(secretWith(text), 'keys');
    expect(attempt).toThrow(Refusal);
    expect(attempt).toThrow(/key \.dockerconfigjson of Secret keys \(spec\.cluster\.credentialsSecret\)/);
    expect(attempt).not.toThrow(/hunter2|QUFB/);
  });
});
