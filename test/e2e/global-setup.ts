import type { TestProject } from 'vitest/node';
import { labDown } from '#lab/hosts/down.ts';
import type { MetaPlace } from '#lab/meta/meta.ts';
import { sharedLab, startLab } from './lab.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The meta cluster, with one host outside of the lanes and those of all lanes. */
    place: MetaPlace;
  }
}

const say = (line: string) => process.stderr.write(`${line}\n`);

declare global {
  /** Each project of a run executes this setup, in the same process. */
  var matryoshkaLab: Promise<MetaPlace> | undefined;
}

/**
 * Opens the lab that `make e2e` shares among its runs (`E2E_LAB`), or starts one with a meta cluster for a whole run.
 * `KEEP=1` keeps it for the next run.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const shared = process.env['E2E_LAB'];
  globalThis.matryoshkaLab ??= shared === undefined ? startLab(say) : sharedLab(shared);
  project.provide('place', await globalThis.matryoshkaLab);
  return async () => {
    if (shared === undefined && process.env['KEEP'] === undefined) await labDown(say);
  };
}
