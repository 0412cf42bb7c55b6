import type { PrecheckProblem, PrecheckResult } from '#precheck/run.ts';
import { META_NODE, machineSeen, type RunSpec } from '#protocol/run-spec.ts';

type HostsOfRun = Pick<RunSpec, 'hosts' | 'knownMachines'>;
export type Found = Pick<PrecheckResult, 'said' | 'problems'>;

/** Check that finds a machine which is recorded at another address. */
export const MACHINE_ON_RECORD = 'machine-on-record';

/** Returns the problems of hosts whose machine is not the one that the run spec means, or is recorded as another host. */
export const machineProblems = (runSpec: HostsOfRun, found: Found): PrecheckProblem[] => [
  ...changedMachines(runSpec, found),
  ...machinesOnRecord(runSpec, found),
];

/**
 * Returns the problems of hosts where another machine answers than the one that joined, or that was seen when the plan was
 * approved. Such a host is never wiped or changed.
 */
function changedMachines({ hosts }: HostsOfRun, { said }: Found): PrecheckProblem[] {
  return hosts.flatMap(({ member: { ip }, machineId, seen }): PrecheckProblem[] => {
    const now = said.get(ip)?.text('machineId') ?? '';
    const another = `HostChanged: another machine answers at ${ip}`;
    const changed = (message: string): PrecheckProblem[] => [
      { ip, check: 'HostChanged', severity: 'error', message },
    ];
    if (now === '') return [];
    if (machineId !== undefined && now !== machineId)
      return changed(
        `${another}: its /etc/machine-id is ${now}, that of the host that joined was ${machineId}; ` +
          'remove the host from the cluster, then add it again',
      );
    if (seen !== undefined && machineSeen(now) !== seen)
      return changed(
        `${another} than when the plan was made: its /etc/machine-id is ${now} (${machineSeen(now)} in a plan), ` +
          `the plan is of ${seen}; plan it anew, then agree to that`,
      );
    return [];
  });
}

/**
 * Returns problems of joining or leaving hosts whose machine is recorded at another address: as a host of this cluster, it
 * would be reset under its own pods.
 */
function machinesOnRecord({ hosts, knownMachines = {} }: HostsOfRun, { said }: Found): PrecheckProblem[] {
  return hosts.flatMap(({ member: { ip }, action }): PrecheckProblem[] => {
    const id = said.get(ip)?.text('machineId') ?? '';
    const owner =
      id === '' || action === 'stay' || action === 'change' ? undefined : knownMachines[machineSeen(id)];
    if (owner === undefined || owner === ip) return [];
    const message =
      `HostConflict: the machine at ${ip} is ${describeOwner(owner)}: both have the machine-id ${id}. ` +
      'Name a machine once; if one is a clone of the other, remove /etc/machine-id on it and run systemd-machine-id-setup';
    return [{ ip, check: MACHINE_ON_RECORD, severity: 'error', message }];
  });
}

const describeOwner = (owner: string): string => {
  if (owner === META_NODE) return 'a node of the meta cluster, which the operator itself needs';
  if (owner === '') return 'on record as a host of a cluster of another namespace';
  return owner.includes('/')
    ? `on record as a host of cluster ${owner}`
    : `host ${owner} of this cluster already`;
};
