import type { Service, ServicePort } from '#api/core.ts';
import { canonicalJson } from '#base/canonical.ts';
import { LOCAL_SERVICES, type LocalService, type LocalServiceSpec, OWNER_LABEL, RACK_LABEL } from './api.ts';
import { rackOf } from './names.ts';

type Spec = NonNullable<Service['spec']>;

/** Defaults that the API server sets if a spec leaves them out (core/v1). Other fields stay absent. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  type: 'ClusterIP',
  sessionAffinity: 'None',
  internalTrafficPolicy: 'Cluster',
  // Applies to traffic from outside only, otherwise absent on both sides.
  externalTrafficPolicy: 'Cluster',
};
/** Fields that the API server or others set for some types and families. They are compared only if the spec sets them. */
const ASKED_ONLY = ['ipFamilies', 'ipFamilyPolicy', 'loadBalancerClass', 'allocateLoadBalancerNodePorts'];
const COMPARED: readonly (keyof LocalServiceSpec & keyof Spec)[] = [
  'selector',
  'type',
  'sessionAffinity',
  'publishNotReadyAddresses',
  'internalTrafficPolicy',
  'trafficDistribution',
  'loadBalancerClass',
  'loadBalancerSourceRanges',
  'ipFamilies',
  'ipFamilyPolicy',
  'externalTrafficPolicy',
  'allocateLoadBalancerNodePorts',
];

/** Returns the Service for the pods of one node. */
export function wantedService(local: LocalService, node: string, name: string): Service {
  const { name: owner = '', namespace = '', uid = '' } = local.metadata;
  const { nodeSelector: _nodes, selector, ...rest } = local.spec;
  return {
    metadata: {
      namespace,
      name,
      labels: { [OWNER_LABEL]: owner, [RACK_LABEL]: rackOf(node) },
      ownerReferences: [
        {
          apiVersion: `${LOCAL_SERVICES.group}/${LOCAL_SERVICES.version}`,
          kind: LOCAL_SERVICES.kind,
          name: owner,
          uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: { ...rest, selector: { ...selector, [RACK_LABEL]: rackOf(node) } },
  };
}

const portOf = ({ protocol = 'TCP', port, targetPort = port, name, appProtocol }: ServicePort) =>
  canonicalJson({ protocol, port, targetPort, name, appProtocol });
const isHeadless = ({ clusterIP }: Spec): boolean => clusterIP === 'None';

/** Whether the Service must be replaced: the API server neither removes nor adds a cluster IP. */
export const mustBeMadeAnew = (there: Service, wanted: Service): boolean =>
  isHeadless(there.spec ?? {}) !== isHeadless(wanted.spec ?? {});

/** Whether a Service is as wanted. Addresses, node ports, and labels of others are not compared. */
export function isAsWanted(there: Service, wanted: Service): boolean {
  const [is, shall] = [there.spec ?? {}, wanted.spec ?? {}];
  const labels = Object.entries(wanted.metadata.labels ?? {});
  return (
    labels.every(([name, value]) => there.metadata.labels?.[name] === value) &&
    canonicalJson(is.ports?.map(portOf)) === canonicalJson(shall.ports?.map(portOf)) &&
    (shall.sessionAffinityConfig === undefined ||
      canonicalJson(is.sessionAffinityConfig) === canonicalJson(shall.sessionAffinityConfig)) &&
    COMPARED.every((field) => {
      if (shall[field] === undefined && ASKED_ONLY.includes(field)) return true;
      const [one, other] = [is[field] ?? DEFAULTS[field], shall[field] ?? DEFAULTS[field]];
      return canonicalJson({ value: one || undefined }) === canonicalJson({ value: other || undefined });
    }) &&
    !mustBeMadeAnew(there, wanted)
  );
}

/** Returns the existing Service with the wanted fields. Addresses and ports that the API server assigned stay. */
export function changedTo(there: Service, wanted: Service): Service {
  const labels = { ...there.metadata.labels, ...wanted.metadata.labels };
  const { type, loadBalancerClass } = there.spec ?? {};
  // The class cannot be removed or changed, regardless of who set it.
  const isKept = type === 'LoadBalancer' && wanted.spec?.type === type && loadBalancerClass !== undefined;
  const kept = isKept ? { loadBalancerClass } : {};
  return {
    ...there,
    metadata: { ...there.metadata, labels },
    ...(wanted.spec ? { spec: { ...kept, ...wanted.spec } } : {}),
  };
}
