/**
 * Import rules of docs/architecture.md; `make lint` checks them. A new folder of src/, or a new import between two, is a
 * line here and a line there. Type imports count.
 */

/** Calling an API server, without caches, queues or controllers. */
const CLIENT = ['runtime/wire', 'runtime/kubeconfig', 'runtime/client'];

/** Folder of src/ → what it may import besides itself. */
const ROOMS = {
  base: [],
  api: ['base'],
  runtime: ['base', 'api/meta.ts'],
  access: [...CLIENT, 'api', 'base'],
  protocol: ['api', 'base'],
  operations: ['protocol', 'api', 'base'],
  rest: ['operations', 'protocol', 'api', 'base'],
  tracing: ['base'],
  ssh: ['base'],
  artifacts: ['base'],
  precheck: ['ssh', 'api', 'base'],
  installer: ['protocol', ...CLIENT, 'runtime/cache', 'api', 'base'],
  snapshots: ['artifacts', 'protocol', 'api', 'base'],
  ansibleinit: ['snapshots', 'tracing', 'protocol', 'precheck', 'ssh', 'api', 'base'],
  backup: ['cluster-access', 'snapshots/seal.ts', ...CLIENT, 'api', 'base'],
  certificates: [],
  'cluster-access': ['base'],
  controller: [
    'certificates',
    'cluster-access',
    'operations',
    'snapshots/seal.ts',
    'tracing/span.ts',
    'protocol',
    'installer',
    'runtime',
    'api',
    'base',
  ],
  addons: ['access', 'certificates', 'ssh', 'runtime', 'api', 'base', 'config.ts'],
  server: [
    'access',
    'certificates',
    'cluster-access',
    'operations',
    'protocol',
    'rest',
    'tracing/span.ts',
    ...CLIENT,
    'api',
    'base',
  ],
  cli: ['rest', 'protocol', 'api', 'base', 'options.ts'],
  webhook: ['access', 'operations', ...CLIENT, 'api', 'base'],
  bootstrap: ['artifacts', 'certificates', 'operations', 'protocol', 'ssh', ...CLIENT, 'api', 'base'],
};

/** Files beside the folders. */
const FILES = {
  config: ['base', 'options.ts'],
  'command-config': ['base', 'options.ts'],
  options: ['base'],
  crds: ['api'],
};

/** Folders of runtime and server in layers: each imports itself and those named. */
const LAYERS = {
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
    login: [],
    http: ['login'],
    auth: ['http'],
    logs: ['clusters', 'auth', 'http'],
    clusters: ['auth', 'http'],
    jobs: ['logs', 'clusters', 'auth', 'http'],
  },
  'addons/ingress': {
    routing: [],
    controller: ['routing'],
    proxy: ['routing'],
  },
};

const TEST = '[.](test|fixture)[.]ts$|(^|/)testing/';
const OURS = '^(src|lab|test|bench|deploy|dashboard)/';
const escaped = (path) => path.replaceAll('.', '[.]');
const path = (one) => `^src/${escaped(one)}${one.endsWith('.ts') ? '$' : '/'}`;
/** Decides without input or output. */
const DECIDES = '^src/controller/cluster/(decide|health/judge)/';
const PURE = '^src/(api|protocol|operations|addons/ingress/routing)/';

const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

const rooms = Object.entries(ROOMS).flatMap(([room, allowed]) => {
  const own = [path(room), ...allowed.map(path)];
  const comment = `src/${room} may import ${allowed.join(', ') || 'nothing of ours'}`;
  return [
    rule(`${room}-imports`, comment, { path: path(room), pathNot: TEST }, { path: OURS, pathNot: own }),
    rule(
      `tests-of-${room}-import`,
      `${comment}; tests also import the servers of the lab`,
      {
        path: [`${path(room)}.*[.](test|fixture)[.]ts$`, `${path(room)}testing/`, `${path(room)}.*/testing/`],
      },
      { path: OURS, pathNot: [...own, path('api'), path('base'), '^lab/(apiserver|fault-proxy|haproxy)/'] },
    ),
  ];
});

const files = Object.entries(FILES).map(([file, allowed]) =>
  rule(
    `${file}-imports`,
    `src/${file}.ts may import ${allowed.join(', ')}`,
    { path: path(`${file}.ts`) },
    { path: OURS, pathNot: allowed.map(path) },
  ),
);

const layers = Object.entries(LAYERS).flatMap(([room, folders]) =>
  Object.entries(folders).map(([folder, below]) =>
    rule(
      `${room}-${folder}-layer`,
      `src/${room}/${folder} may import ${below.join(', ') || `nothing of ${room}`}`,
      { path: path(`${room}/${folder}`), pathNot: TEST },
      { path: path(room), pathNot: [folder, ...below].map((one) => path(`${room}/${one}`)) },
    ),
  ),
);

export default {
  forbidden: [
    rule('no-cycles', 'Move what both need into a third file', {}, { circular: true }),
    rule('resolvable', 'The import leads nowhere', {}, { couldNotResolve: true }),
    ...rooms,
    ...files,
    ...layers,
    rule(
      'known-folder',
      'A new folder of src/ needs a line in this file',
      {},
      {
        path: '^src/',
        pathNot: [
          ...Object.keys(ROOMS).map(path),
          ...Object.keys(FILES).map((file) => path(`${file}.ts`)),
          '^src/(programs/|main[.]ts$)',
        ],
      },
    ),
    rule(
      'dashboard-imports',
      'The web page knows REST alone; of src/ it imports what formats times',
      { path: '^dashboard/' },
      { path: OURS, pathNot: ['^dashboard/', path('base/time-span.ts')] },
    ),
    rule(
      'not-into-tests',
      'Only tests import this',
      { path: '^src/', pathNot: TEST },
      { path: `^src/.*(${TEST})` },
    ),
    rule(
      'not-out-of-src',
      'Nothing under src/ imports this',
      { path: '^src/', pathNot: TEST },
      { path: '^(lab|test|bench|deploy|dashboard)/' },
    ),
    rule(
      'siblings',
      'Controllers and add-ons meet in API objects alone',
      { path: '^src/(controller|addons)/([^/]+)/' },
      { path: '^src/$1/[^/]+/', pathNot: ['^src/$1/$2/', TEST] },
    ),
    rule('pure', 'It does no input or output', { path: PURE, pathNot: TEST }, { dependencyTypes: ['core'] }),
    rule(
      'decides',
      'It decides, and does neither input nor output',
      { path: DECIDES },
      { path: '^src/(runtime|controller)/', pathNot: DECIDES },
    ),
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|__pycache__)/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
