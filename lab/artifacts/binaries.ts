import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { type Component, type ComponentName, components } from './components.ts';
import { goToolchain } from './go.ts';
import { withPatches } from './patched.ts';
import { binariesDir, modulesDir } from './places.ts';
import { announced, type Say } from './progress.ts';
import { stampOf } from './stamp.ts';

/** A full link on two cores takes a minute or two, a cold compile five. A longer build hangs. */
const BUILD_TIMEOUT_MS = 30 * 60_000;

/**
 * Settings that cut the time of a build by a third. The compiler of a package ends before it needs garbage collection.
 * Debugging information is not used: `-s -w` removes it at the end.
 */
const HASTE = { flags: ['-gcflags=all=-dwarf=false'], env: { GOGC: 'off', GOMEMLIMIT: '2GiB' } };

/**
 * Returns the folder of a component's binaries, and builds the wanted ones that the cache lacks.
 *
 *     const folder = await ensureBinaries('etcd', ['etcd'], sayOnStderr)
 */
export async function ensureBinaries(
  componentName: ComponentName,
  wanted: readonly string[],
  say: Say,
): Promise<string> {
  const component: Component = components[componentName];
  const folder = join(binariesDir, await binariesStamp(componentName));
  for (const name of wanted) {
    const path = join(folder, name);
    if (!existsSync(path)) await announced(say, `go build ${name}`, () => build(component, name, path));
  }
  return folder;
}

/** Returns a name that changes with all inputs of a component's build, and is the same on each machine. */
export async function binariesStamp(componentName: ComponentName): Promise<string> {
  const component: Component = components[componentName];
  return `${component.name}-${await stampOf(component, [join(modulesDir, component.name)])}`;
}

async function build(component: Component, name: string, path: string): Promise<void> {
  const go = await goToolchain();
  const tests = component.tests?.[name];
  const source = tests ?? component.binaries[name];
  if (source === undefined) throw new Error(`${component.name} has no binary ${name}`);
  const variables = Object.entries(component.variables ?? {}).map(([key, value]) => `-X ${key}=${value}`);
  const linker = ['-s -w', ...(component.cgo ? ['-extldflags -static'] : []), ...variables].join(' ');
  const tags = [...(component.tags ?? []), ...(component.cgo ? ['netgo', 'osusergo'] : [])];
  // Two test runs may build one binary at once: each writes a separate file, and the last one stays.
  const part = `${path}.${process.pid}`;
  await mkdir(join(path, '..'), { recursive: true });
  try {
    const options = {
      env: {
        ...HASTE.env,
        CGO_ENABLED: component.cgo ? '1' : '0',
        GOOS: 'linux',
        GOARCH: 'amd64',
        GOFLAGS: '-mod=readonly',
      },
      stdin: 'ignore',
      timeout: BUILD_TIMEOUT_MS,
    } as const;
    const command = tests === undefined ? ['build'] : ['test', '-c'];
    const how = ['-trimpath', '-buildvcs=false', ...HASTE.flags, `-tags=${tags.join(',')}`];
    await withPatches(go, join(modulesDir, component.name), component.patched, (cwd) =>
      execa(go, [...command, ...how, '-ldflags', linker, '-o', part, source], { ...options, cwd }),
    );
    await rename(part, path);
  } finally {
    await rm(part, { force: true });
  }
}
