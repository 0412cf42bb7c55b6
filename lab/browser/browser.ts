import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { execa } from 'execa';
import { type BrowserContext, chromium } from 'playwright-core';
import type { Say } from '../artifacts/progress.ts';
import { docker } from '../hosts/docker.ts';
import { buildImage } from '../hosts/image.ts';

const START_MS = 60_000;

export interface LabBrowser {
  /** Separate profile, without pages, cookies or cache of others. */
  context: BrowserContext;
  /** Ends the browser and its container. */
  close(): Promise<void>;
}

export interface BrowserOptions {
  /** Name → address that this browser uses instead of DNS. */
  names?: Readonly<Record<string, string>>;
  /** Public keys that it trusts besides those of known CAs: base64 of the SHA-256 of SubjectPublicKeyInfo. */
  trusts?: readonly string[];
}

/** Starts Debian's Chromium in a container with this machine's network. Its port is open on loopback only. */
export async function openBrowser(
  say: Say,
  { names = {}, trusts = [] }: BrowserOptions = {},
): Promise<LabBrowser> {
  const image = await buildImage('matryoshka-lab-browser', join(import.meta.dirname), say);
  const rules = Object.entries(names).map(([name, address]) => `MAP ${name} ${address}`);
  const flags = [
    ...(rules.length > 0 ? [`--host-resolver-rules=${rules.join(', ')}`] : []),
    ...(trusts.length > 0 ? [`--ignore-certificate-errors-spki-list=${trusts.join(',')}`] : []),
  ];
  const id = (await docker(['create', '--rm', '--network=host', '--shm-size=256m', image, ...flags])).trim();
  const remove = () => docker(['rm', '--force', id]).then(() => {});
  try {
    const url = await listeningAt(id);
    const browser = await chromium.connectOverCDP(url, { timeout: START_MS });
    const context = await browser.newContext();
    return {
      context,
      async close() {
        await browser.close().catch(() => {});
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Starts the container and returns its endpoint, which Chromium prints on standard error. */
async function listeningAt(id: string): Promise<string> {
  const started = execa('docker', ['start', '--attach', id], {
    stdin: 'ignore',
    reject: false,
    // The log grows as long as the browser lives.
    buffer: false,
  });
  const giveUp = setTimeout(() => started.kill(), START_MS);
  const said: string[] = [];
  try {
    for await (const line of createInterface({ input: started.stderr })) {
      const url = /^DevTools listening on (ws:\S+)$/.exec(line)?.[1];
      if (url !== undefined) {
        // The stream is read on, or Chromium would block when it is full.
        started.stderr.resume();
        return url;
      }
      said.push(line);
    }
  } finally {
    clearTimeout(giveUp);
  }
  throw new Error(`Chromium did not start: ${said.slice(-5).join('; ')}`);
}
