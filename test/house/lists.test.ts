import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { operations } from '#operations/index.ts';
import { checks } from '#precheck/index.ts';
import { routesOfOperations } from '#rest/asking.ts';
import { routes as restRoutes } from '#rest/index.ts';
import { jobRoutes, lenientJobRoutes, routes } from '#server/index.ts';
import { admissions, mutations } from '#webhook/index.ts';
import { addonFiles } from '../../deploy/addons.ts';

/** Compares each list in the source with the folder that it lists: a file without its line fails here. */
const root = join(import.meta.dirname, '../..');

const modulesOf = (folder: string): string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && name !== 'index.ts')
    .sort();

const foldersOf = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

/** Returns the exports of a folder's files that `isOne` accepts, by `file: name`. */
async function exportedFrom(
  folder: string,
  isOne: (value: unknown, name: string) => boolean,
): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>();
  for (const file of modulesOf(folder)) {
    const module: object = await import(join(root, folder, file));
    for (const [name, value] of Object.entries(module)) {
      if (isOne(value, name)) found.set(`${folder}/${file}: ${name}`, value);
    }
  }
  return found;
}

/** Compares a folder's members with the list, in both directions. */
function difference(folder: ReadonlyMap<string, unknown>, list: readonly unknown[]) {
  const there = new Set(folder.values());
  return {
    unlisted: [...folder].filter(([, value]) => !list.includes(value)).map(([where]) => where),
    strangers: list.filter((value) => !there.has(value)).length,
    twice: list.length - new Set(list).size,
  };
}
const SAME = { unlisted: [], strangers: 0, twice: 0 };

const matches =
  (schema: z.ZodType) =>
  (value: unknown): boolean =>
    schema.safeParse(value).success;
const isFunction = z.custom((value) => typeof value === 'function');

describe('the list', () => {
  it('names every operation', async () => {
    const isOperation = matches(
      z.object({ values: z.object({}), planning: z.object({}), check: isFunction }),
    );
    const found = await exportedFrom('src/operations', isOperation);
    expect(difference(found, operations)).toEqual(SAME);
    const names = operations.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const playbooks = operations.flatMap(({ playbook }) => playbook ?? []);
    const there = readdirSync(join(root, 'ansible'));
    expect(playbooks.filter((playbook) => !there.includes(playbook))).toEqual([]);
  });

  it.each(
    operations.flatMap(({ name, playbook, planning }) =>
      playbook === undefined ? [] : [[name, playbook, planning] as const],
    ),
  )('has the steps of %s as the plays of %s', (_name, playbook, { steps }) => {
    const plays = z
      .array(z.object({ name: z.string() }))
      .parse(parse(readFileSync(join(root, 'ansible', playbook), 'utf8')))
      .map(({ name }) => name);
    // The last play reports that the run is complete, and touches no host.
    expect(plays).toEqual([
      ...steps.flatMap(({ name, ...step }) => ('byRun' in step ? [] : name)),
      'Complete',
    ]);
  });

  it('names every check of hosts', async () => {
    const isCheck = matches(z.object({ name: z.string(), check: isFunction }));
    expect(difference(await exportedFrom('src/precheck/checks', isCheck), checks)).toEqual(SAME);
    expect(new Set(checks.map(({ name }) => name)).size).toBe(checks.length);
  });

  it('names every file of routes', async () => {
    const isRoutes = (value: unknown, name: string) => typeof value === 'function' && name.endsWith('Routes');
    const found = new Map<string, unknown>();
    for (const folder of foldersOf('src/server').filter((name) => name !== 'testing'))
      for (const [where, one] of await exportedFrom(`src/server/${folder}`, isRoutes)) found.set(where, one);
    const listed = [...routes, ...lenientJobRoutes, ...jobRoutes];
    expect(difference(found, listed)).toEqual(SAME);
  });

  it('names every route of REST', async () => {
    const isRoute = matches(z.object({ operationId: z.string(), method: z.string(), path: z.string() }));
    const found = await exportedFrom('src/rest', isRoute);
    // Routes of operations are generated from the list of operations.
    const made = routesOfOperations.map(({ route }) => route);
    const written = restRoutes.filter((route) => !made.some((one) => one.operationId === route.operationId));
    expect(difference(found, written)).toEqual(SAME);
  });

  it('names every admission, under the path that the API server calls', async () => {
    const isAdmission = (value: unknown, name: string) =>
      typeof value === 'function' && name.endsWith('Admission');
    const found = await exportedFrom('src/webhook/admit', isAdmission);
    expect(difference(found, Object.values(admissions))).toEqual(SAME);
    expect(modulesOf('src/webhook/validate')).toEqual(expect.arrayContaining(modulesOf('src/webhook/admit')));
    expect(Object.keys(admissions)).toContain(KUBERNETES_CLUSTERS.plural);
    const mutating = await exportedFrom(
      'src/webhook/mutate',
      (value, name) => typeof value === 'function' && name.endsWith('Mutation'),
    );
    expect(difference(mutating, Object.values(mutations))).toEqual(SAME);
    const paths = [
      ...Object.keys(admissions).map((plural) => `/validate/${plural}`),
      ...Object.keys(mutations).map((plural) => `/mutate/${plural}`),
    ];
    expect(calledPaths().sort()).toEqual(paths.sort());
  });

  it('names every controller and every add-on', () => {
    const imported = (file: string, end: string) =>
      ts
        .preProcessFile(readFileSync(join(root, file), 'utf8'), true, true)
        .importedFiles.map(({ fileName }) => fileName)
        .filter((specifier) => specifier.endsWith(end) && specifier !== `.${end}`)
        .sort();
    const controllers = foldersOf('src/controller').map((name) => `#controller/${name}/module.ts`);
    expect(imported('src/programs/controllers.ts', '/module.ts')).toEqual(controllers.sort());
    const found = foldersOf('src/addons').filter((name) => name !== 'testing');
    expect(imported('src/addons/index.ts', '/addon.ts')).toEqual(
      found.map((name) => `./${name}/addon.ts`).sort(),
    );
  });

  it('matches the installations of add-ons: run "node deploy/addons.ts"', () => {
    const folder = join(root, 'deploy/addons');
    const files = readdirSync(folder).filter((file) => file !== 'examples');
    const found = files.map((file) => [file, readFileSync(join(folder, file), 'utf8')]);
    expect(Object.fromEntries(found)).toEqual(addonFiles);
  });

  it('has no example without a test that creates it', () => {
    const folder = join(root, 'test/e2e');
    const tests = readdirSync(folder).filter((file) => file.endsWith('.test.ts'));
    const text = tests.map((file) => readFileSync(join(folder, file), 'utf8')).join();
    const examples = readdirSync(join(root, 'deploy/examples'));
    expect(examples.filter((file) => !text.includes(`('${file}'`))).toEqual([]);
  });

  it('is compared with its folder in both directions', () => {
    const folder = new Map<string, unknown>([
      ['a.ts: a', 1],
      ['b.ts: b', 2],
    ]);
    expect(difference(folder, [1, 3, 3])).toEqual({ unlisted: ['b.ts: b'], strangers: 2, twice: 1 });
  });
});

const webhookSchema = z.object({
  kind: z.enum(['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration']),
  webhooks: z.array(z.object({ clientConfig: z.object({ service: z.object({ path: z.string() }) }) })),
});

/** Returns the paths in the shipped webhook configurations. */
function calledPaths(): string[] {
  const folder = join(root, 'deploy/manifests');
  const objects = readdirSync(folder).flatMap((file) =>
    parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((document): unknown => document.toJS()),
  );
  return objects.flatMap((object) => {
    const parsed = webhookSchema.safeParse(object);
    return parsed.success ? parsed.data.webhooks.map(({ clientConfig }) => clientConfig.service.path) : [];
  });
}
