/**
 * Serves Ingresses. The controller writes their status and Events; `proxy` runs HAProxy, and `routing` compiles the routes
 * of all Ingresses.
 */

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

/** Service of the proxy, in the proxy's namespace: clients reach the proxy through it. */
const PROXY_SERVICE = 'matryoshka-ingress-server';

/** Directory of HAProxy's configuration and keys. */
const SCRATCH = '/run/matryoshka';

/** Keeps only the problem of a certificate: the controller serves no certificate. */
const judged = (secret: Secret): Secret => {
  const pair = { cert: secretText(secret, 'tls.crt'), key: secretText(secret, 'tls.key') };
  return { ...slimPair(secret), data: secretData({ [PROBLEM]: problemOfPair(pair) }) };
};
const withAddresses = (service: Service): Service => ({
  ...slimService(service),
  status: service.status,
  spec: { ...slimService(service).spec, externalIPs: service.spec?.externalIPs },
});

/** Writes status and Events of Ingresses. Another program serves them (src/addons/ingress/proxy). */
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
  // RBAC has no right to Secrets of some types alone. The controller asks for types kubernetes.io/tls and basic-auth only.
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
