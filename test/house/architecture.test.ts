import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { addons } from '#addons/index.ts';
import { crdFiles } from '../../src/crds.ts';

/** Holds the walls of docs/architecture.md. A new room, or a new way between rooms, is a line here and a line there. */
const root = join(import.meta.dirname, '../..');

/** What "client only" means: calling an API server, without caches, queues or controllers. */
const CLIENT = ['runtime/wire', 'runtime/kubeconfig', 'runtime/client'];

/** Room → the rooms, or single files of rooms, that it may import besides itself. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  base: [],
  api: ['base'],
  runtime: ['base', 'api/meta.ts'],
  access: [...CLIENT, 'api', 'base'],
  protocol: ['api', 'base'],
  operations: ['protocol', 'api', 'base'],
  rest: ['operations', 'protocol', 'api', 'base'],
  ssh: ['base'],
  artifacts: ['base'],
  precheck: ['ssh', 'api', 'base'],
  installer: ['protocol', ...CLIENT, 'runtime/cache', 'api', 'base'],
  ansibleinit: ['protocol', 'precheck', 'ssh', 'api', 'base'],
  certificates: [],
  controller: ['certificates', 'operations', 'protocol', 'installer', 'runtime', 'api', 'base'],
  addons: ['access', 'certificates', 'ssh', 'runtime', 'api', 'base', 'config.ts'],
  server: ['access', 'operations', 'protocol', 'rest', ...CLIENT, 'api', 'base'],
  webhook: ['access', 'operations', ...CLIENT, 'api', 'base'],
  bootstrap: ['artifacts', 'certificates', 'operations', 'protocol', 'ssh', ...CLIENT, 'api', 'base'],
  config: ['base', 'options.ts'],
  'command-config': ['base', 'options.ts'],
  options: ['base'],
  crds: ['addons', 'api'],
  programs: ['*'],
  main: ['*'],
};

/** What is inside large rooms, in layers: each folder imports itself and those named; files beside them import all. */
const LAYERS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  runtime: {
    wire: [],
    kubeconfig: ['wire'],
    client: ['wire'],
    cache: ['client', 'wire'],
    leader: ['client', 'wire'],
    events: ['client', 'wire'],
    controller: ['cache', 'client', 'wire'],
    process: ['controller', 'leader', 'events', 'cache', 'client', 'wire'],
  },
  server: {
    http: [],
    auth: ['http'],
    clusters: ['auth', 'http'],
    jobs: ['logs', 'clusters', 'auth', 'http'],
    logs: ['clusters', 'auth', 'http'],
  },
};

/** What else a test beside its file may import. */
const TESTS_ALSO = ['lab/apiserver', 'lab/fault-proxy', 'base', 'api'];
/** Rooms without input or output: they import no part of node. */
const PURE = ['api/', 'protocol/', 'operations/', 'addons/ingress/routing/'];
/** Rooms whose folders never import each other. */
const SIBLINGS = ['controller', 'addons'];
/** Where a cluster's life is decided, and its health judged: they look at nothing but what they are given. */
const DECIDES = ['controller/cluster/decide/', 'controller/cluster/health/judge/'];

interface Import {
  /** Below src/. */
  file: string;
  /** As it is written. */
  specifier: string;
}

/** Tests, and what several of them share: the product never imports it. */
const isTest = (file: string): boolean => /\.(test|fixture)\.ts$|\/testing\//.test(file);
const roomOf = (path: string): string => path.split('/')[0]?.replace(/\.ts$/, '') ?? '';

/** What a specifier leads to, below src/ (or below the checkout, for `lab/` and the like); undefined for packages. */
function targetOf({ file, specifier }: Import): string | undefined {
  if (specifier.startsWith('#')) return specifier.slice(1);
  if (!specifier.startsWith('.')) return undefined;
  const path = relative(join(root, 'src'), join(root, 'src', file, '..', specifier));
  return path.replace(/^(\.\.\/)+/, '');
}

const opens = (allowed: readonly string[], target: string): boolean =>
  allowed.some((one) => one === '*' || one === target || target.startsWith(`${one}/`));

const reachesOut = (target: string): boolean =>
  target.startsWith('controller/') && !DECIDES.some((folder) => target.startsWith(folder));

/** Why an import is not allowed, in a sentence; undefined when it is. */
function objection(one: Import): string | undefined {
  const { file, specifier } = one;
  const room = roomOf(file);
  const says = `src/${file} imports ${specifier}`;
  const target = targetOf(one);
  if (target === undefined) {
    const node =
      specifier.startsWith('node:') && PURE.some((folder) => file.startsWith(folder)) && !isTest(file);
    return node ? `${says}: it does no input or output` : undefined;
  }
  const allowed = ALLOWED[room];
  if (!allowed) return `${says}: "${room}" is no room of test/house/architecture.test.ts`;
  if (isTest(file) && opens(TESTS_ALSO, target)) return undefined;
  const decides = DECIDES.find((folder) => file.startsWith(folder));
  if (decides !== undefined && (target.startsWith('runtime/') || reachesOut(target)))
    return `${says}: ${decides} decides, and does neither input nor output`;
  if (!isTest(file) && isTest(target)) return `${says}: that is for tests`;
  if (/^(lab|test|bench|deploy)\//.test(target)) return `${says}: nothing under src imports that`;
  if (roomOf(target) !== room) {
    if (opens(allowed, target)) return undefined;
    return `${says}: ${room} may import ${allowed.length === 0 ? 'nothing of ours' : allowed.join(', ')}`;
  }
  const [, mine = '', inside] = file.split('/');
  const [, theirs = '', deeper] = target.split('/');
  const layers = LAYERS[room];
  if (layers && inside !== undefined && !isTest(file) && mine !== theirs) {
    const below = layers[mine] ?? [];
    if (!opens(below, target.slice(`${room}/`.length)))
      return `${says}: ${room}/${mine} may import ${below.length === 0 ? `nothing of ${room}` : below.join(', ')}`;
  }
  const areSiblings = inside !== undefined && deeper !== undefined && mine !== theirs;
  if (SIBLINGS.includes(room) && areSiblings && !isTest(target))
    return `${says}: siblings never import each other; they meet in API objects`;
  return undefined;
}

const filesUnder = (folder: string, matches: (path: string) => boolean): string[] =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => matches(path) && !/(^|\/)(node_modules|dist|__pycache__)\//.test(path))
    .sort();

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const sources = filesUnder('src', (path) => path.endsWith('.ts')).map((path) => path.slice('src/'.length));
const product = sources.filter((file) => !isTest(file));

const importsOf = (file: string, text: string): Import[] =>
  ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => ({ file, specifier: fileName }));

/** Places where a type is given up: `any`, or a comment that silences the compiler. */
function untyped(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  const at = (position: number) => `${path}:${source.getLineAndCharacterOfPosition(position).line + 1}`;
  const found = [...text.matchAll(/@ts-(ignore|nocheck|expect-error)/g)].map(({ index }) => at(index));
  const visit = (node: ts.Node): void => {
    if (node.kind === ts.SyntaxKind.AnyKeyword) found.push(at(node.getStart(source)));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

describe('the rooms', () => {
  it('import only what their walls let through', () => {
    const imports = sources.flatMap((file) => importsOf(file, read(`src/${file}`)));
    expect(imports.length).toBeGreaterThan(500);
    expect(imports.flatMap((one) => objection(one) ?? [])).toEqual([]);
  });

  it('are all there: no wall without a room', () => {
    const rooms = new Set(sources.map(roomOf));
    expect(Object.keys(ALLOWED).filter((room) => !rooms.has(room))).toEqual([]);
    expect([...rooms].filter((room) => !(room in ALLOWED))).toEqual([]);
    const folders = new Set(sources.map((file) => file.split('/').slice(0, 2).join('/')));
    const layers = Object.entries(LAYERS).flatMap(([room, inside]) =>
      Object.keys(inside).map((folder) => `${room}/${folder}`),
    );
    expect(layers.filter((folder) => !folders.has(folder))).toEqual([]);
  });

  it.each([
    [
      'server/app.ts',
      '#controller/cluster/module.ts',
      'server may import access, operations, protocol, rest, runtime/wire',
    ],
    ['server/clusters/create-routes.ts', '../../webhook/app.ts', 'server may import'],
    ['server/http/errors.ts', '../app.ts', 'server/http may import nothing of server'],
    ['server/clusters/requests.ts', '../logs/log-store.ts', 'server/clusters may import auth, http'],
    ['webhook/app.ts', '#runtime/cache/informer.ts', 'webhook may import'],
    ['runtime/client/client.ts', '#api/kubernetes-cluster.ts', 'runtime may import base, api/meta.ts'],
    ['runtime/wire/call.ts', '../client/client.ts', 'runtime/wire may import nothing of runtime'],
    ['runtime/cache/informer.ts', '../leader/lease.ts', 'runtime/cache may import client, wire'],
    ['addons/workspace/server/server.ts', '../../ingress/api.ts', 'siblings never import each other'],
    ['addons/ingress/routing/table.ts', 'node:fs', 'no input or output'],
    ['addons/network/addon.ts', '#controller/certificate/module.ts', 'addons may import'],
    ['base/clock.ts', '#api/meta.ts', 'base may import nothing of ours'],
    ['operations/create.ts', 'node:fs', 'no input or output'],
    ['controller/certificate/module.ts', '../cluster/rules.ts', 'siblings never import each other'],
    ['controller/cluster/decide/table.ts', '../state/hosts.ts', 'does neither input nor output'],
    ['controller/cluster/decide/table.ts', '#runtime/client/client.ts', 'does neither input nor output'],
    ['controller/cluster/decide/table.ts', '../health/look.ts', 'does neither input nor output'],
    ['controller/cluster/health/judge/judge.ts', '../connection.ts', 'does neither input nor output'],
    [
      'controller/cluster/health/judge/judge.ts',
      '#runtime/client/client.ts',
      'does neither input nor output',
    ],
    ['programs/server.ts', '#lab/hosts/up.ts', 'nothing under src imports that'],
    ['precheck/run.test.ts', '#lab/hosts/up.ts', 'nothing under src imports that'],
    ['programs/server.ts', '#server/testing/rest-world.ts', 'that is for tests'],
    ['controller/cluster/module.ts', '#installer/testing/scripted-installer.ts', 'that is for tests'],
    ['cellar/wine.ts', '#base/clock.ts', '"cellar" is no room'],
  ])('object when %s imports %s', (file, specifier, why) => {
    expect(objection({ file, specifier })).toContain(`src/${file} imports ${specifier}`);
    expect(objection({ file, specifier })).toContain(why);
  });

  it.each([
    ['server/app.ts', '#runtime/client/client.ts'],
    ['server/clusters/create-routes.ts', '../http/errors.ts'],
    ['programs/controllers.ts', '#controller/cluster/module.ts'],
    ['addons/index.ts', './network/addon.ts'],
    ['controller/cluster/decide/table.ts', './host-records.ts'],
    ['webhook/webhook.api.test.ts', '#lab/apiserver/start.ts'],
    ['main.ts', './programs/server.ts'],
    ['ssh/connection.ts', 'ssh2'],
  ])('let %s import %s', (file, specifier) => {
    expect(objection({ file, specifier })).toBeUndefined();
  });

  it('are read to the last import: types, re-exports and dynamic imports as well', () => {
    const text = `import type { A } from './a.ts';\nexport { b } from './b.ts';\nawait import('./c.ts');\nimport './d.ts';`;
    const specifiers = importsOf('main.ts', text).map(({ specifier }) => specifier);
    expect(specifiers.sort()).toEqual(['./a.ts', './b.ts', './c.ts', './d.ts']);
  });
});

describe('the files', () => {
  it('of the product have at most 250 lines, those of its tests 400', () => {
    const lines = (file: string) => read(`src/${file}`).split('\n').length - 1;
    const long = sources.filter((file) => lines(file) > (isTest(file) ? 400 : 250));
    expect(long.map((file) => `src/${file}: ${lines(file)} lines`)).toEqual([]);
  });

  it('called controller.ts of add-ons have less than 100 lines: each reads from top to bottom', () => {
    const controllers = sources.filter((file) => /^addons\/.*\/controller\.ts$/.test(file));
    expect(controllers).toHaveLength(addons.length);
    const lines = controllers.map((file) => ({ file, lines: read(`src/${file}`).split('\n').length - 1 }));
    expect(lines.filter((one) => one.lines >= 100)).toEqual([]);
  });

  it('are named for what they hold', () => {
    const vague = /^(utils?|helpers?|commons?|misc|shared|lib)$/;
    const named = [
      ...sources.map((file) => `src/${file}`),
      ...filesUnder('lab', (path) => path.endsWith('.ts')),
    ];
    expect(
      named.filter((path) => path.split('/').some((part) => vague.test(part.replace(/\.ts$/, '')))),
    ).toEqual([]);
    expect(named.filter((path) => !/^[a-z0-9]+([-.][a-z0-9]+)*\.ts$/.test(basename(path)))).toEqual([]);
  });

  it('give up no type', () => {
    const all = ['src', 'lab', 'deploy', 'test'].flatMap((folder) =>
      filesUnder(folder, (path) => path.endsWith('.ts')),
    );
    expect(all.flatMap((path) => untyped(path, read(path)))).toEqual([]);
    expect(untyped('made-up.ts', 'const a: number = 1;\nconst b = JSON.parse("1") as any;')).toEqual([
      'made-up.ts:2',
    ]);
  });

  it('have no word of the hosts that we practise on: the product does not know them', () => {
    const word = /\blab\b|\blab[-_]/i;
    const texts = [
      ...product.map((file) => `src/${file}`),
      ...filesUnder('ansible', (path) => !path.endsWith('.pyc')),
      ...filesUnder('deploy/manifests', () => true),
      ...filesUnder('crds', () => true),
    ];
    const telling = texts.flatMap((path) =>
      read(path)
        .split('\n')
        .flatMap((line, index) => (word.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
    );
    expect(telling).toEqual([]);
  });

  it('under crds/ are those that src/api makes: run "node src/crds.ts"', () => {
    const found = Object.fromEntries(
      readdirSync(join(root, 'crds')).map((name) => [name, read(`crds/${name}`)]),
    );
    expect(found).toEqual(crdFiles);
  });
});
