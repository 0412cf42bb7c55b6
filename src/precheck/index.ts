/**
 * Checks hosts before an operation and changes nothing on them. Each check is one file: a script for the host, and a
 * function that judges its answer. One SSH command asks a host for all checks.
 */

import type { Check } from './check.ts';
import { address } from './checks/address.ts';
import { artifacts } from './checks/artifacts.ts';
import { clock } from './checks/clock.ts';
import { cpu } from './checks/cpu.ts';
import { disk } from './checks/disk.ts';
import { environment } from './checks/environment.ts';
import { etcdFolder } from './checks/etcd-folder.ts';
import { firewall } from './checks/firewall.ts';
import { foreign } from './checks/foreign.ts';
import { hostname } from './checks/hostname.ts';
import { ipv6 } from './checks/ipv6.ts';
import { joined } from './checks/joined.ts';
import { kernelModules } from './checks/kernel-modules.ts';
import { links } from './checks/links.ts';
import { machineId } from './checks/machine-id.ts';
import { memory } from './checks/memory.ts';
import { mounts } from './checks/mounts.ts';
import { nameServers } from './checks/name-servers.ts';
import { owner } from './checks/owner.ts';
import { ports } from './checks/ports.ts';
import { programs } from './checks/programs.ts';
import { root } from './checks/root.ts';
import { routes } from './checks/routes.ts';
import { swap } from './checks/swap.ts';
import { swapAtBoot } from './checks/swap-at-boot.ts';
import { system } from './checks/system.ts';
import { upgrade } from './checks/upgrade.ts';
import { upgradeDisk } from './checks/upgrade-disk.ts';
import { versions } from './checks/versions.ts';

/** All checks, in the order of their reports. */
export const checks: readonly Check[] = [
  system,
  programs,
  versions,
  kernelModules,
  root,
  environment,
  owner,
  joined,
  foreign,
  links,
  etcdFolder,
  cpu,
  memory,
  disk,
  mounts,
  swap,
  swapAtBoot,
  ports,
  clock,
  hostname,
  address,
  ipv6,
  routes,
  nameServers,
  firewall,
  machineId,
  artifacts,
  upgradeDisk,
  upgrade,
];
