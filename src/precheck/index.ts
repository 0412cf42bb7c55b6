import type { Check } from './check.ts';
import { artifacts } from './checks/artifacts.ts';
import { clock } from './checks/clock.ts';
import { hostname, machineId } from './checks/identity.ts';
import { leftovers, owner } from './checks/ownership.ts';
import { ports } from './checks/ports.ts';
import { cpu, disk, memory, swap } from './checks/resources.ts';
import { root, system } from './checks/system.ts';

/** Every check, in the order in which problems are told. */
export const checks: readonly Check[] = [
  system,
  root,
  owner,
  leftovers,
  cpu,
  memory,
  disk,
  swap,
  ports,
  clock,
  hostname,
  machineId,
  artifacts,
];
