import type { TestProject } from 'vitest/node';
import { labDown } from '#lab/hosts/down.ts';
import type { MetaPlace } from '#lab/meta/meta.ts';
import { sharedLab, startLab } from './lab.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The meta cluster, with a host of no lane and those of all lanes. */
    place: MetaPlace;
  }
}

const say = (line: string) => process.stderr.write(`${line}\n`);

declare global {
  /** Each project of a run sets up, in the same process. */
  var matryoshkaLab: Promise<MetaPlace> | undefined;
}

/**
 * The lab that `make e2e` shares among its runs (`E2E_LAB`), else one with a meta cluster for a whole run; `KEEP=1` leaves
 * that for the next run.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const shared = process.env['E2E_LAB'];
  globalThis.matryoshkaLab ??= shared === undefined ? startLab(say) : sharedLab(shared);
  project.provide('place', await globalThis.matryoshkaLab);
  return async () => {
    if (shared === undefined && process.env['KEEP'] === undefined) await labDown(say);
  };
}
