import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { execa } from 'execa';
import { type BrowserContext, chromium } from 'playwright-core';
import type { Say } from '../artifacts/progress.ts';
import { docker } from '../hosts/docker.ts';
import { buildImage } from '../hosts/image.ts';

const START_MS = 60_000;

export interface LabBrowser {
  /** A profile of its own: no page, cookie or cache of others. */
  context: BrowserContext;
  /** Ends it and its container. */
  close(): Promise<void>;
}

export interface BrowserOptions {
  /** Name → address that it shall have for this browser, instead of by DNS. */
  names?: Readonly<Record<string, string>>;
  /** Base64 of the SHA-256 of public keys (SubjectPublicKeyInfo) that it shall trust besides known authorities'. */
  trusts?: readonly string[];
}

/** Debian's Chromium in a container that reaches whatever this machine does. It answers on loopback alone. */
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

/** Starts it; answers where it can be driven, which it tells on its standard error. */
async function listeningAt(id: string): Promise<string> {
  const started = execa('docker', ['start', '--attach', id], {
    stdin: 'ignore',
    reject: false,
    // Its log is as long as it lives.
    buffer: false,
  });
  const giveUp = setTimeout(() => started.kill(), START_MS);
  const said: string[] = [];
  try {
    for await (const line of createInterface({ input: started.stderr })) {
      const url = /^DevTools listening on (ws:\S+)$/.exec(line)?.[1];
      if (url !== undefined) {
        // Read on, or it would wait for somebody who does.
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
