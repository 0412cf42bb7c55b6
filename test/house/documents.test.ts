import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checks } from '#precheck/index.ts';
import { limitsOf } from '#precheck/limits.ts';
import { generatedPages } from '../../docs/site/generate.ts';
import { precheckConfig } from '../../src/command-config.ts';
import { inventorySchema } from '../../src/programs/precheck-inventory.ts';

/** Checks the statements of documents against the files that they name. */
const root = join(import.meta.dirname, '../..');

describe.each([
  ['docs/reliability.md', 65],
  ['docs/security.md', 72],
])('%s', (document, count) => {
  const text = readFileSync(join(root, document), 'utf8');
  const entries = text.split('\n\n').filter((paragraph) => /^\*\*\d+\. /.test(paragraph));
  const numberOf = (entry: string): number => Number(/\d+/.exec(entry)?.[0]);

  it(`has ${count} entries, each number once`, () => {
    expect(entries.map(numberOf).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: count }, (_, i) => i + 1),
    );
  });

  it.each([
    ...new Set(
      [...text.matchAll(/`((?:src|test|lab|docs|ansible)\/[\w./-]+)`/g)].map(([, path]) => path ?? ''),
    ),
  ])('names %s, which exists', (path) => {
    expect(existsSync(join(root, path))).toBe(true);
  });

  it('names a test in each entry', () => {
    const bare = entries.filter((entry) => !/plans|\.test\.ts`|test\/fuzz\/main\.ts`/.test(entry));
    expect(bare).toEqual([]);
  });
});

describe('docs/tasks', () => {
  it.each([
    ['create', 'create'],
    ['scale-up', 'scale-up'],
    ['scale-down', 'scale-down'],
    ['replace', 'replace'],
    ['move-etcd', 'move-etcd'],
    ['relabel', 'relabel'],
    ['delete', 'terminate'],
    ['repair', 'repair'],
    ['renew', 'renew'],
    ['upgrade', 'update'],
    ['roll-back', 'rollback'],
  ])('%s.md has the steps of its playbook, in their order', (page, playbook) => {
    const plays = readFileSync(join(root, `ansible/${playbook}.yml`), 'utf8');
    const names = [...plays.matchAll(/^- name: (.*)$/gm)].map(([, name]) => name);
    const text = readFileSync(join(root, `docs/tasks/${page}.md`), 'utf8');
    const steps = [...text.matchAll(/^\d+\. \*\*([^*]+)\*\*/gm)].map(([, name]) => name);
    expect(steps).toEqual(names.filter((name) => name !== 'Complete'));
  });
});

describe('docs/reference', async () => {
  it.each(Object.entries(await generatedPages()))('%s matches the source', (name, text) => {
    expect(readFileSync(join(root, 'docs/reference', name), 'utf8')).toBe(text);
  });
});

describe('docs/precheck.md', () => {
  const text = readFileSync(join(root, 'docs/precheck.md'), 'utf8');
  /** Returns the names in the first cells of a section's tables. */
  const namedIn = (title: string): string[] =>
    (text.split('\n## ').find((one) => one.startsWith(`${title}\n`)) ?? '')
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .flatMap((line) =>
        [...(line.split(' | ')[0] ?? '').matchAll(/`([^`\s]+)[^`]*`/g)].map(([, name]) => name ?? ''),
      );

  it('has a row for each check', () => {
    expect(namedIn('Checks').toSorted()).toEqual(checks.map(({ name }) => name).toSorted());
  });

  it('has a row for each limit and each field of the inventory', () => {
    const limits = Object.keys(limitsOf(checks, {}));
    expect(namedIn('Limits').toSorted()).toEqual(limits.toSorted());
    expect(namedIn('hosts.yaml').toSorted()).toEqual(Object.keys(inventorySchema.shape).toSorted());
  });

  it('has each option', () => {
    const kebab = (name: string) => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const short: Readonly<Record<string, string>> = { '--namespace': '-n', '--output': '-o' };
    const options = Object.keys(precheckConfig.shape)
      .map(kebab)
      .map((flag) => short[flag] ?? flag);
    expect([...new Set(namedIn('Check hosts by hand'))].toSorted()).toEqual(options.toSorted());
  });
});

describe('docs/troubleshooting.md', () => {
  const text = readFileSync(join(root, 'docs/troubleshooting.md'), 'utf8');
  const headings = [...text.matchAll(/^### (.*)$/gm)].flatMap(([, title]) => (title ?? '').split(', '));
  const sourcesIn = (folder: string) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !/test|fixture|status\//.test(file))
      .map((file) => readFileSync(join(root, folder, file), 'utf8'))
      .join('\n');
  const controller = ['controller/cluster', 'installer', 'protocol', 'ansibleinit']
    .map((folder) => sourcesIn(`src/${folder}`))
    .join();
  const run = /REASONS[^{]*\{([^}]*)\}/.exec(readFileSync(join(root, 'src/ansibleinit/run.ts'), 'utf8'))?.[1];
  const reasons = new Set([
    ...[...controller.matchAll(/(?:Refusal|stall|stalled)\(\s*'([A-Z]\w+)'/g)].map(([, name]) => name),
    ...[...controller.matchAll(/reason(?:: | = )'([A-Z]\w+)'/g)].map(([, name]) => name),
    ...[...controller.matchAll(/(?:CANCELLED|HOOK_FAILED|HOOK_LOST) = '([A-Z]\w+)'/g)].map(
      ([, name]) => name,
    ),
    ...[...(run ?? '').matchAll(/'([A-Z]\w+)'/g)].map(([, name]) => name),
  ]);

  /** Kubernetes writes this Event; ours is RunBlocked. */
  const EVENT_OF_JOB = 'FailedCreate';

  it('has a section for each reason of a stall or a failure', () => {
    expect(reasons.size).toBeGreaterThan(20);
    expect(
      [...reasons].filter(
        (reason) => reason !== undefined && !headings.includes(reason) && reason !== EVENT_OF_JOB,
      ),
    ).toEqual([]);
  });
});
