import { expect } from 'vitest';
import { startHistory } from '#lab/history/run.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { kubeconfigOf } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';

/** Fewer say nothing about an order. */
const ENOUGH = 100;
/** Some five requests a second: more would take the two processors from what is tried. */
const PAUSE_MS = 2_000;

interface History {
  /**
   * Ends it: what was read and written has the order of one copy, and no request has failed after its tries; but `failing`
   * where the only API server was away for a while.
   */
  end(options?: { failing?: boolean }): Promise<void>;
  /** Ends it without a word, where the test has failed before. */
  drop(): Promise<void>;
}

/** Clients that write and read, by this host's own way to the API servers, while operations and faults go on. */
export async function beginHistory(meta: Meta, name: string, host: LabHost): Promise<History> {
  const stop = await startHistory(host.name, await kubeconfigOf(meta, name), PAUSE_MS, () => {});
  let ended = false;
  return {
    async end({ failing = false } = {}) {
      ended = true;
      const report = await stop();
      console.log(`${name}: ${JSON.stringify(report)}`);
      expect(report).toMatchObject({ linearizable: 'Ok', ...(failing ? {} : { failed: null }) });
      expect(report.operations).toBeGreaterThan(ENOUGH);
    },
    async drop() {
      if (!ended) await stop().catch(() => undefined);
    },
  };
}
