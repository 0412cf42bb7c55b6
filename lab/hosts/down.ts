import { rm } from 'node:fs/promises';
import type { Say } from '../artifacts/progress.ts';
import { docker, dockerOrUndefined } from './docker.ts';
import { hostsPath, keptPath, knownHostsPath, labLabels, network } from './places.ts';
import { restoreSysctls } from './sysctls.ts';

/** Removes every host with its volumes, and the network. Images and the key stay, because they cost nothing. */
export async function labDown(say: Say): Promise<void> {
  const found = await dockerOrUndefined(['ps', '-aq', `--filter=label=${network.name}`]);
  const ids = (found ?? '').split('\n').filter((id) => id !== '');
  if (ids.length > 0) {
    say(`removing ${ids.length} hosts …`);
    await docker(['rm', '-f', '-v', ...ids], 120_000);
  }
  if ((await dockerOrUndefined(['network', 'inspect', network.name])) !== undefined) {
    await docker(['network', 'rm', network.name]);
  }
  const left = await Promise.all(
    labLabels.map((label) => dockerOrUndefined(['ps', '-aq', `--filter=label=${label}`])),
  );
  if (left.every((ids) => !ids)) await restoreSysctls();
  await Promise.all([hostsPath, keptPath, knownHostsPath].map((path) => rm(path, { force: true })));
}
