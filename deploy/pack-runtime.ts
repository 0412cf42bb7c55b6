import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { z } from 'zod';

/**
 * Packs src/runtime as a separate package, with the files that it imports from other folders. The manifest is written here:
 * a package.json inside src/runtime would hide the imports (#base/…) of our own package.json.
 */
const root = join(import.meta.dirname, '..');
const SRC = join(root, 'src');
/** For tests of ours. */
const SUPPORT = 'testing/';
/** Files of other folders that users of the runtime need. */
const ALSO = ['base/log', 'base/clock', 'api/meta'];

const ours = z
  .object({ version: z.string(), license: z.string(), engines: z.object({ node: z.string() }) })
  .extend({ dependencies: z.record(z.string(), z.string()) });

/** Compiles into `directory` and packs there. Answers the tarball's path. */
export function packRuntime(directory: string): string {
  const folder = join(directory, 'package');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const stems = readdirSync(join(SRC, 'runtime'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.startsWith(SUPPORT))
    .map((name) => `runtime/${name.replace(/\.ts$/, '')}`);
  const published = [...stems, ...ALSO];
  const packages = compile(
    published.map((stem) => `${stem}.ts`),
    join(folder, 'dist'),
  );

  const { version, license, engines, dependencies } = ours.parse(
    JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')),
  );
  const at = (path: string) => ({ types: `./dist/${path}.d.ts`, default: `./dist/${path}.js` });
  const manifest = {
    name: 'matryoshka-runtime',
    version,
    description: 'Clients, caches, queues, controllers and leader election for Kubernetes',
    license,
    type: 'module',
    engines,
    files: ['dist'],
    imports: Object.fromEntries(['base', 'api'].map((folder) => [`#${folder}/*.ts`, at(`${folder}/*`)])),
    // By the file's own name: in which folder it is kept is ours to change.
    exports: Object.fromEntries(published.map((stem) => [`./${basename(stem)}`, at(stem)])),
    dependencies: Object.fromEntries(packages.map((name) => [name, pinned(dependencies, name)])),
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', directory], {
    cwd: folder,
    encoding: 'utf8',
  });
  return join(directory, basename(packed.trim()));
}

function pinned(dependencies: Readonly<Record<string, string>>, name: string): string {
  const version = dependencies[name];
  if (version === undefined) throw new Error(`src/runtime imports ${name}, which is no dependency`);
  return version;
}

/**
 * Emits JavaScript and declarations of the entries and of all that they import; answers the packages that they
 * import. File by file, without the checker, which `make lint` has run: it takes ten times as long.
 */
function compile(entries: readonly string[], outDir: string): string[] {
  const compilerOptions: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.ESNext,
    rewriteRelativeImportExtensions: true,
    verbatimModuleSyntax: true,
  };
  const packages = new Set<string>();
  const open = [...entries];
  const done = new Set<string>();
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (done.has(file)) continue;
    done.add(file);
    const text = readFileSync(join(SRC, file), 'utf8');
    for (const { fileName } of ts.preProcessFile(text, true, true).importedFiles) {
      if (fileName.startsWith('.')) open.push(join(dirname(file), fileName));
      else if (fileName.startsWith('#')) open.push(fileName.slice(1));
      else if (!fileName.startsWith('node:')) packages.add(packageOf(fileName));
    }
    const how = { fileName: file, compilerOptions, reportDiagnostics: true };
    const declaring = { ...compilerOptions, declaration: true, isolatedDeclarations: true };
    const types = ts.transpileDeclaration(text, { ...how, compilerOptions: declaring });
    const code = ts.transpileModule(text, how);
    const problem = [...(types.diagnostics ?? []), ...(code.diagnostics ?? [])][0];
    if (problem) throw new Error(`${file}: ${ts.flattenDiagnosticMessageText(problem.messageText, ' ')}`);
    const stem = join(outDir, file.replace(/\.ts$/, ''));
    mkdirSync(dirname(stem), { recursive: true });
    writeFileSync(`${stem}.js`, code.outputText);
    writeFileSync(`${stem}.d.ts`, types.outputText);
  }
  return [...packages].sort();
}

const packageOf = (specifier: string): string =>
  specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const directory = join(root, 'dist');
  mkdirSync(directory, { recursive: true });
  console.log(packRuntime(directory));
}
