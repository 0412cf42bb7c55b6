import { keyOf } from '#api/cluster-facts.ts';
import { isMaster } from '#api/cluster-host.ts';
import { canonicalIp } from '#api/host.ts';
import { DEFAULTS, type OperationStatus, type Spec } from '#api/kubernetes-cluster.ts';
import { drainVars } from '#protocol/drain-vars.ts';
import { kubeadmVars } from '#protocol/kubeadm-vars.ts';
import type { PlannedHost, RunSpec } from '#protocol/run-spec.ts';
import { upgradeVars } from '#protocol/upgrade-vars.ts';
import { placeOfOperation } from '#tracing/span.ts';
import type { FrozenPlan } from './frozen-plan.ts';
import type { AttemptToStart } from './outcome.ts';
import type { Snapshot } from './snapshot.ts';

/** The fields that differ from run to run. */
export interface RunShape
  extends Pick<RunSpec, 'task' | 'callback' | 'precheck' | 'brings'>,
    Pick<Partial<RunSpec>, 'playbook' | 'snapshot'> {
  job: string;
  attempt: number;
  deadlineSeconds: number;
  auxiliary?: string;
  /** The spec that the run is for; default: that of the operation. */
  spec?: Spec;
}

const NO_REGION = 'default';

/** Returns where clients find the API of the new cluster: a name that never changes, and the address behind it. */
function endpointOf(
  clusterId: string,
  { cluster }: OperationStatus['spec'],
  hosts: readonly PlannedHost[],
): RunSpec['endpoint'] {
  const balancer = cluster.externalLoadBalancer;
  const master = hosts.find(({ member: host, action }) => isMaster(host) && action !== 'leave');
  if (balancer === undefined)
    return { name: `api.${clusterId}.matryoshka.internal`, address: master?.member.ip ?? '' };
  // The site's own name resolves without /etc/hosts; an entry there would pin the first control plane.
  return { name: balancer, address: canonicalIp(balancer) ?? '' };
}

/** Returns the version with which an upgrade begins; nothing if the version stays. If status was lost, the applied spec has it. */
function upgradeFrom(
  { cluster: { status }, applied }: Pick<Snapshot, 'cluster' | 'applied'>,
  wanted: string | undefined,
): { upgrade_from?: string } {
  const present = status?.version ?? applied?.cluster.kubeVersion;
  return present === undefined || wanted === undefined || present === wanted ? {} : { upgrade_from: present };
}

/** Returns the place of a run's span, below that of its operation. */
function traceBelow(operation: OperationStatus): RunSpec['trace'] {
  const { traceId, spanId } = placeOfOperation(operation);
  return { id: traceId, parent: spanId };
}

/** Returns the run of the snapshot's operation that carries out a plan. */
export function runOf(
  {
    cluster,
    clusterId,
    operation,
    applied,
  }: Pick<Snapshot, 'cluster' | 'clusterId' | 'operation' | 'applied'>,
  { hosts, steps }: Pick<FrozenPlan, 'hosts' | 'steps'>,
  { job, attempt, deadlineSeconds, auxiliary, spec = operation?.spec ?? cluster.spec, ...shape }: RunShape,
): AttemptToStart {
  const sequence = operation?.sequence ?? 0;
  const { cluster: wanted, addons } = spec;
  return {
    clusterId,
    sequence,
    attempt,
    job,
    deadlineSeconds,
    ...(auxiliary === undefined ? {} : { auxiliary }),
    runSpec: {
      ...shape,
      cluster: { id: clusterId, ...keyOf(cluster), region: cluster.spec.cluster.region ?? NO_REGION },
      run: { job, sequence, attempt },
      hosts: [...hosts],
      steps: [...steps],
      brings: [...shape.brings],
      endpoint: endpointOf(clusterId, spec, hosts),
      ...(operation === undefined ? {} : { trace: traceBelow(operation) }),
      vars: {
        kube_version: wanted.kubeVersion,
        ...upgradeFrom({ cluster, applied }, wanted.kubeVersion),
        pod_cidr: wanted.podCIDR,
        service_cidr: wanted.serviceCIDR,
        network: addons?.network ?? DEFAULTS.network,
        ...(wanted.imagesRegistry === undefined ? {} : { images_registry: wanted.imagesRegistry }),
        ...kubeadmVars(wanted.kubeadm),
        ...drainVars(wanted.drain),
        ...upgradeVars(wanted.upgrade),
      },
    },
  };
}
