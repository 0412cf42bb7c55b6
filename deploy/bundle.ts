import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { buildPage } from './page.ts';
import { sbomOf } from './sbom.ts';

/**
 * Makes dist/: programs, and the node that runs them. Bundled, not minified: a start costs a third of the
 * unbundled tree's, and a stack trace stays readable.
 */
const root = join(import.meta.dirname, '..');
const dist = resolve(process.argv[2] ?? join(root, 'dist'));

/** Lets CommonJS parts of the bundle find `require`, and what is not bundled: native add-ons. */
const banner = `import { createRequire as __createRequire } from 'node:module';
const require = __createRequire(import.meta.url);
const __filename = import.meta.filename, __dirname = import.meta.dirname;`;

/** The program also runs by itself, with the Node of a user. */
const NODE_CHECK = `if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write('matryoshka needs Node 24 or later; this is ' + process.version + '\\n');
  process.exit(2);
}`;

/** Packages of gRPC read .proto files two folders above their own: the bundle has them beside it. */
const protosBeside: Plugin = {
  name: 'protos-beside',
  setup({ onLoad }) {
    onLoad({ filter: /(@grpc\/reflection|grpc-health-check)\/build\/src\/.*\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll('../../proto', './proto'),
      loader: 'js',
    }));
  },
};

/** Messages are English: zod's translations, half a megabyte, would be parsed at each start. */
const onlyEnglish: Plugin = {
  name: 'only-english',
  setup({ onLoad }) {
    onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
      loader: 'js',
    }));
  },
};

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
const common = {
  absWorkingDir: root,
  metafile: true,
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  banner: { js: banner },
  legalComments: 'none',
  logLevel: 'warning',
  // Native parts: cpu-features is optional to ssh2; koffi stands beside the bundle.
  external: ['cpu-features', 'koffi', '*.node'],
  // Its CommonJS form asks for its parts by a `require` that no bundler sees.
  alias: { 'jsonc-parser': join(root, 'node_modules/jsonc-parser/lib/esm/main.js') },
  plugins: [protosBeside, onlyEnglish],
} satisfies BuildOptions;
const program = join(dist, 'matryoshka.js');
// A command loads its own parts only: all of them are eleven megabytes, whose parsing takes a third of a second.
const ofProgram = await build({
  ...common,
  entryPoints: { matryoshka: join(root, 'src/launcher.ts') },
  outdir: dist,
  splitting: true,
  chunkNames: 'matryoshka-[hash]',
  banner: { js: `#!/usr/bin/env node\n${NODE_CHECK}\n${banner}` },
});
chmodSync(program, 0o755);
// Without it, Node reads a file twice to find out that it is a module.
writeFileSync(join(dist, 'package.json'), '{ "type": "module" }\n');
const ofRunner = await build({
  ...common,
  entryPoints: [join(root, 'src/ansibleinit/main.ts')],
  outfile: join(dist, 'ansibleinit.js'),
});
const ofPage = await buildPage(join(dist, 'page'));
copyFileSync(join(root, 'node_modules/node/bin/node'), join(dist, 'node'));
const NATIVE = ['koffi', '@koromix/koffi-linux-x64'];
for (const part of NATIVE) {
  cpSync(join(root, 'node_modules', part), join(dist, 'node_modules', part), { recursive: true });
}
cpSync(join(root, 'node_modules/@fastify/swagger-ui/static'), join(dist, 'static'), { recursive: true });
for (const from of [
  'src/addons/workspace/server/proto',
  'node_modules/@grpc/reflection/build/proto',
  'node_modules/grpc-health-check/proto',
]) {
  cpSync(join(root, from), join(dist, 'proto'), { recursive: true });
}
// One by one: links among them lead to what playbooks have too, and a copy of a folder keeps links.
const onHosts = join(root, 'src/addons/network/bridges/host');
mkdirSync(join(dist, 'host'));
for (const name of readdirSync(onHosts)) copyFileSync(join(onHosts, name), join(dist, 'host', name));
// Bootstrap applies them.
for (const part of ['crds', 'deploy/manifests', 'deploy/addons', 'ansible/roles/settings/meta'])
  cpSync(join(root, part), join(dist, part), { recursive: true });
const sboms = {
  'matryoshka.cdx.json': sbomOf(root, [ofProgram.metafile, ofPage], ['@fastify/swagger-ui']),
  'ansibleinit.cdx.json': sbomOf(root, [ofRunner.metafile], NATIVE),
};
for (const [name, sbom] of Object.entries(sboms))
  writeFileSync(join(dist, name), `${JSON.stringify(sbom, undefined, 1)}\n`);
