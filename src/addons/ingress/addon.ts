import { SECRETS, SERVICES, type Secret, type Service, secretData, secretText } from '#api/core.ts';
import { INGRESS_CLASSES, INGRESSES, type Ingress, type IngressClass } from '#api/networking.ts';
import { problemOfPair } from '#certificates/server-pair.ts';
import type { ControllerModule } from '#runtime/process/controller-host.ts';
import type { Addon, PolicyRule } from '../addon.ts';
import { BY_HOST, ingressController, PROBLEM } from './controller/controller.ts';
import { BASIC_AUTH_SECRETS, slimCredentials } from './routing/access.ts';
import { rivalHostsOf } from './routing/claims.ts';
import { CONTROLLER_NAME } from './routing/classes.ts';
import { slimIngress, slimPair, slimService, TLS_SECRETS } from './routing/slim.ts';

/** The Service of the proxy, in its own namespace: where clients reach it. */
const PROXY_SERVICE = 'matryoshka-ingress-server';

/** Where HAProxy finds its configuration and keys. */
const SCRATCH = '/run/matryoshka';

/** What is wrong with a certificate, and nothing of it: this program shows none. */
const judged = (secret: Secret): Secret => {
  const pair = { cert: secretText(secret, 'tls.crt'), key: secretText(secret, 'tls.key') };
  return { ...slimPair(secret), data: secretData({ [PROBLEM]: problemOfPair(pair) }) };
};
const withAddresses = (service: Service): Service => ({
  ...slimService(service),
  status: service.status,
  spec: { ...slimService(service).spec, externalIPs: service.spec?.externalIPs },
});

/** Status and Events of Ingresses, which other programs serve (src/addons/ingress/proxy). */
const module: ControllerModule = (host) => [
  ingressController({
    ...host,
    proxy: { namespace: host.namespace, name: PROXY_SERVICE },
    ingresses: host.informer<Ingress>(INGRESSES, {
      transform: slimIngress,
      indexers: { [BY_HOST]: rivalHostsOf },
    }),
    classes: host.informer<IngressClass>(INGRESS_CLASSES),
    services: host.informer<Service>(SERVICES, { transform: withAddresses }),
    secrets: host.informer<Secret>(SECRETS, { selection: TLS_SECRETS, transform: judged }),
    credentials: host.informer<Secret>(SECRETS, {
      selection: BASIC_AUTH_SECRETS,
      transform: slimCredentials,
    }),
  }),
];

const reading: readonly PolicyRule[] = [
  {
    apiGroups: ['networking.k8s.io'],
    resources: ['ingresses', 'ingressclasses'],
    verbs: ['list', 'watch'],
  },
  // Those of types kubernetes.io/tls and kubernetes.io/basic-auth are asked for; there is no right to these alone.
  { apiGroups: [''], resources: ['services', 'secrets'], verbs: ['list', 'watch'] },
];
export const ingress: Addon = {
  name: 'ingress',
  summary: 'Ingress: HAProxy serves Ingresses of class matryoshka',
  module,
  crds: [],
  others: [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: 'matryoshka' },
      spec: { controller: CONTROLLER_NAME },
    },
  ],
  rules: [
    ...reading,
    { apiGroups: ['networking.k8s.io'], resources: ['ingresses/status'], verbs: ['patch'] },
  ],
  server: {
    args: ['ingress-proxy', '--workers=2', `--directory=${SCRATCH}`],
    scratch: SCRATCH,
    ports: [
      { name: 'http', port: 80, target: 8080 },
      { name: 'https', port: 443, target: 8443 },
    ],
    hasCertificate: false,
    rules: [
      ...reading,
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
    ],
    outside: { replicas: 2, memoryLimit: '1Gi', graceSeconds: 60 },
  },
};
