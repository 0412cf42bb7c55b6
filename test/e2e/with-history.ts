import { expect } from 'vitest';
import { startHistory } from '#lab/history/run.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { kubeconfigOf } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';

/** Fewer operations prove nothing about an order. */
const ENOUGH = 100;
/** Some five requests a second; more would take the two processors from the tested operations. */
const PAUSE_MS = 2_000;

interface History {
  /**
   * Ends the history. Reads and writes must have the order of a single copy, and no request may have failed after its
   * retries. `failing` allows failures, for tests in which the only API server was away.
   */
  end(options?: { failing?: boolean }): Promise<void>;
  /** Ends the history without a verdict, for tests that have already failed. */
  drop(): Promise<void>;
}

/** Starts clients that write and read through this host's own path to the API servers, during operations and faults. */
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
