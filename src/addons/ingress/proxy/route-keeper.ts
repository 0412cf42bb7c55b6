import { SECRETS, SERVICES, type Secret, type Service, secretText } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  INGRESS_CLASSES,
  INGRESSES,
  type Ingress,
  type IngressClass,
} from '#api/networking.ts';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { plainPair, problemOfPair } from '#certificates/server-pair.ts';
import { createInformer, type Informer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';
import { BASIC_AUTH_SECRETS, hashOf, slimCredentials } from '../routing/access.ts';
import { shownFor } from '../routing/claims.ts';
import { type Compiled, compileRoutes } from '../routing/compile.ts';
import {
  BY_SERVICE,
  sliceKey,
  slicesByService,
  slimIngress,
  slimPair,
  slimService,
  slimSlice,
  TLS_SECRETS,
} from '../routing/slim.ts';
import type { Certificates, Pair, Served } from './state.ts';

/** Combines changes that arrive within this time. */
const GATHER_MS = 10;

export interface RouteKeeperDeps {
  client: Client;
  clock: Clock;
  log: Logger;
  /** Gets all routes after each change, and at the start. */
  publish(served: Served): void;
}

/** Compiles the routes from the objects of the API, again after each change. */
export interface RouteKeeper {
  /** Informers that the caller runs. */
  readonly informers: readonly Informer<KubeObject>[];
  /** Resolves when the first routes are published. */
  start(signal?: AbortSignal): Promise<void>;
  /** Number of served hosts. */
  readonly hosts: number;
  /** The Ingresses (`namespace/name`) that use each backend. */
  readonly users: Compiled['users'];
}

export function createRouteKeeper({ client, clock, log, publish }: RouteKeeperDeps): RouteKeeper {
  const common = { client, clock, log };
  const ingresses = createInformer<Ingress>({ ...common, resource: INGRESSES, transform: slimIngress });
  const classes = createInformer<IngressClass>({ ...common, resource: INGRESS_CLASSES });
  const services = createInformer<Service>({ ...common, resource: SERVICES, transform: slimService });
  const slices = createInformer<EndpointSlice>({
    ...common,
    resource: ENDPOINT_SLICES,
    transform: slimSlice,
    indexers: slicesByService,
  });
  const secrets = createInformer<Secret>({
    ...common,
    resource: SECRETS,
    selection: TLS_SECRETS,
    transform: slimPair,
  });
  const credentials = createInformer<Secret>({
    ...common,
    resource: SECRETS,
    selection: BASIC_AUTH_SECRETS,
    transform: slimCredentials,
  });
  const informers = [ingresses, classes, services, slices, secrets, credentials];
  /** Keyed by object, because a changed Secret is a new object. */
  const checked = new WeakMap<Secret, Pair | undefined>();
  let hosts = 0;
  let users: Compiled['users'] = new Map();
  let isPending = false;

  function pairNamed(name: string): Pair | undefined {
    const [namespace = '', secretName = ''] = name.split('/');
    const secret = secrets.get({ namespace, name: secretName });
    if (!secret) return undefined;
    if (checked.has(secret)) return checked.get(secret);
    const [cert = '', key = ''] = [secretText(secret, 'tls.crt'), secretText(secret, 'tls.key')];
    const pair = problemOfPair({ cert, key }) === undefined ? plainPair({ cert, key }) : undefined;
    checked.set(secret, pair);
    return pair;
  }

  function certificatesFor({ certificates: wanted, holders }: Compiled): Certificates {
    const pairs = new Map<string, Pair>();
    for (const name of new Set(wanted.values())) {
      const pair = pairNamed(name);
      if (pair) pairs.set(name, pair);
    }
    const usable = new Map([...wanted].filter(([, name]) => pairs.has(name)));
    return { hosts: shownFor(holders, usable), pairs };
  }

  function compile(): void {
    isPending = false;
    const compiled = compileRoutes({
      ingresses: ingresses.list(),
      classes: classes.list(),
      service: (namespace, name) => services.get({ namespace, name }),
      credentials: (namespace, name) => hashOf(credentials.get({ namespace, name })),
      slices: (namespace, service) => slices.byIndex(BY_SERVICE, sliceKey(namespace, service)),
    });
    hosts = compiled.hosts.size;
    users = compiled.users;
    publish({ routes: compiled, certificates: certificatesFor(compiled) });
  }

  return {
    informers,
    async start(signal) {
      await Promise.all(informers.map((informer) => informer.whenSynced(signal)));
      const soon = () => {
        if (isPending) return;
        isPending = true;
        clock.after(GATHER_MS, compile);
      };
      const handler = { add: soon, update: soon, delete: soon };
      for (const informer of informers) informer.addHandler(handler);
      compile();
    },
    get hosts() {
      return hosts;
    },
    get users() {
      return users;
    },
  };
}
