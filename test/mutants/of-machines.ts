import type { Mutant, Witness } from './mutant.ts';

const unit = (file: string, test: string): Witness => ({ project: 'unit', file, test });

/** A machine counts as one machine, whatever address or name refers to it. */
export const ofMachines: readonly Mutant[] = [
  {
    name: 'a machine on record joins again under another address',
    file: 'src/ansibleinit/machines.ts',
    from: 'if (owner === undefined || owner === ip) return [];',
    to: 'if (owner !== undefined || ip !== undefined) return [];',
    witness: unit('src/ansibleinit/machines.test.ts', 'does not join'),
  },
  {
    name: 'the run does not hear of machines of other clusters',
    file: 'src/controller/cluster/state/known-machines.ts',
    from: 'status?.machineId === undefined || joining',
    to: 'status?.machineId === undefined || spec.clusterId !== cluster.id || joining',
    witness: unit(
      'src/controller/cluster/state/known-machines.test.ts',
      'names machines of this cluster by address, and of the namespace by cluster',
    ),
  },
  {
    name: 'a host that joined under another address is taken',
    file: 'ansible/roles/fence/files/take.sh',
    from: '[ "$joined_name $joined_ip" != "$NAME $IP" ]',
    to: 'false',
    witness: unit('test/roles/joined-as.test.ts', 'refuses a machine that joined under'),
  },
  {
    name: 'a node of the meta cluster may become a host by an unknown address',
    file: 'src/controller/cluster/state/known-machines.ts',
    from: 'Object.fromEntries([...hostMachines, ...metaMachines])',
    to: 'Object.fromEntries([...hostMachines])',
    witness: unit(
      'src/controller/cluster/state/known-machines.test.ts',
      'names machines of this cluster by address, and of the namespace by cluster',
    ),
  },
  {
    name: 'a key that opens nothing makes other clusters fail',
    file: 'src/controller/cluster/state/hosts.ts',
    from: 'if (undecided.every(Boolean)) throw',
    to: 'if (undecided.every((one) => !one)) throw',
    witness: {
      project: 'api',
      file: 'test/conformance/cluster-lifecycle.test.ts',
      test: 'waits for a host that another cluster prechecks',
    },
  },
  {
    name: 'hosts behind a load balancer ask a control plane',
    file: 'src/protocol/role-vars/topology.ts',
    from: "if (!ownEndpoint) return ['', name].includes(address) ? [] : [address];",
    to: "if (!ownEndpoint && address === '') return [];",
    witness: unit('src/protocol/role-vars/role-vars.test.ts', 'gives hosts the address of the load balancer'),
  },
  {
    name: 'the host of the meta cluster may be named',
    file: 'src/operations/validate-addresses.ts',
    from: 'return network ? [',
    to: 'return network === null ? [',
    witness: unit('src/operations/validate-addresses.test.ts', ' as a host'),
  },
  {
    name: 'an address that nobody got in to stays held',
    file: 'src/controller/cluster/decide/host-records.ts',
    from: 'if (strangers.length > 0)',
    to: 'if (strangers.length < 0)',
    witness: unit(
      'src/controller/cluster/decide/host-records.test.ts',
      'releases untouched hosts that the run could not log in to',
    ),
  },
  {
    name: 'a host is named by an address that is translated on its way',
    file: 'src/precheck/checks/address.ts',
    from: 'all.some(({ ip }) => ip === host.ip)',
    to: 'all.some(({ ip }) => ip !== "")',
    witness: unit('src/precheck/checks.test.ts', 'that is translated on its way'),
  },
];
