import type { Check } from './check.ts';
import { address } from './checks/address.ts';
import { artifacts } from './checks/artifacts.ts';
import { clock } from './checks/clock.ts';
import { cpu } from './checks/cpu.ts';
import { disk } from './checks/disk.ts';
import { environment } from './checks/environment.ts';
import { foreign } from './checks/foreign.ts';
import { hostname } from './checks/hostname.ts';
import { ipv6 } from './checks/ipv6.ts';
import { joined } from './checks/joined.ts';
import { links } from './checks/links.ts';
import { machineId } from './checks/machine-id.ts';
import { memory } from './checks/memory.ts';
import { owner } from './checks/owner.ts';
import { ports } from './checks/ports.ts';
import { root } from './checks/root.ts';
import { swap } from './checks/swap.ts';
import { system } from './checks/system.ts';

/** Every check, in the order in which problems are told. */
export const checks: readonly Check[] = [
  system,
  root,
  environment,
  owner,
  joined,
  foreign,
  links,
  cpu,
  memory,
  disk,
  swap,
  ports,
  clock,
  hostname,
  address,
  ipv6,
  machineId,
  artifacts,
];
