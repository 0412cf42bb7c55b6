import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

/** The log of a failed task whose result contains secrets. */
const ansible = join(import.meta.dirname, '../..', 'ansible');
const TOKEN = 'abcdef.0123456789abcdef';
const BLOB = 'TUlJRXBBSUJBQUtDQVFFQXJmRmZzTm1wQ0hkR2dQMmtsL0o0';
const PEM = '-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB\n-----END RSA PRIVATE KEY-----';

async function redacted(message: string, results: readonly string[] = []): Promise<string> {
  const program =
    'import json, sys; from redacted import redacted; given = json.load(sys.stdin); print(redacted(*given), end="")';
  const { stdout } = await execa('python3', ['-c', program], {
    input: JSON.stringify([message, results]),
    env: { PYTHONPATH: join(ansible, 'python'), PYTHONDONTWRITEBYTECODE: '1' },
  });
  return stdout;
}

describe('a failure message', () => {
  it.each([
    'The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?',
    'cannot find /var/lib/matryoshka/etcd/usr/local/bin/etcdctl or /etc/kubernetes/pki/apiserver-etcd-client.key',
    'etcd-server: the sum is 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  ])('stays unchanged: %s', async (message) => {
    expect(await redacted(message, ['', 'yes'])).toBe(message);
  });

  it.each([
    ['a bootstrap token', `secret bootstrap-token: ${TOKEN} exists`, 'secret bootstrap-token: … exists'],
    ['a key', `not valid:\n${PEM}\nend`, 'not valid:\n…\nend'],
    ['a key that is cut off', `not valid: ${PEM.slice(0, 40)}`, 'not valid: …'],
    ['base64', `cannot decode ${BLOB}=`, 'cannot decode …'],
  ])('contains no secret: %s', async (_what, message, expected) => {
    expect(await redacted(message)).toBe(expected);
  });

  it('contains no result of the script', async () => {
    expect(await redacted('exists: some-answer', ['some-answer'])).toBe('exists: …');
  });
});

it('no task uses no_log, and tasks with secret results declare them', async () => {
  const entries = await readdir(ansible, { recursive: true, withFileTypes: true });
  const Tasks = z
    .array(
      z.looseObject({
        no_log: z.unknown().optional(),
        host_script: z.looseObject({ secret: z.boolean().optional() }).optional(),
      }),
    )
    .nullable();
  const secret: string[] = [];
  for (const { parentPath, name } of entries) {
    if (!parentPath.endsWith('/tasks') || !name.endsWith('.yml')) continue;
    const path = join(parentPath, name);
    for (const task of Tasks.parse(parse(await readFile(path, 'utf8'))) ?? []) {
      expect(task.no_log, path).toBeUndefined();
      if (task.host_script?.secret) secret.push(path.slice(ansible.length + 1));
    }
  }
  expect(secret.sort()).toEqual([
    ...['admit', 'issue', 'kubeconfig'].map((name) => `roles/control-plane/tasks/${name}.yml`),
    'roles/renew/tasks/issue-kubelets.yml',
    'roles/repair/tasks/give.yml',
    'roles/rotate/tasks/make.yml',
  ]);
});
