import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, systemClock } from '#base/clock.ts';
import type { Endpoint } from '../wire/endpoint.ts';
import { fileContent } from './file-content.ts';

export interface InClusterOptions {
  /** API server as a pod sees it, `host:port`. KUBERNETES_SERVICE_HOST and _PORT give it without DNS. */
  server?: string | undefined;
  /** Directory of the mounted ServiceAccount. */
  directory?: string | undefined;
  clock?: Clock | undefined;
}

const MOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Whether a ServiceAccount is mounted here. */
export function isInCluster({ directory = MOUNT }: InClusterOptions = {}): boolean {
  return existsSync(join(directory, 'token'));
}

/**
 * Returns the endpoint of a pod's own cluster. It reads token and CA again each minute, since the kubelet rotates both.
 * Throws an Error that names an unreadable file. Source: client-go rest.InClusterConfig.
 */
export function inClusterEndpoint(options: InClusterOptions = {}): Endpoint {
  const { server = 'kubernetes.default.svc:443', directory = MOUNT, clock = systemClock } = options;
  const token = fileContent(join(directory, 'token'), 'ServiceAccount token', { clock });
  const ca = fileContent(join(directory, 'ca.crt'), 'ServiceAccount authority', { clock });
  token.read();
  ca.read();
  return {
    url: `https://${server}`,
    parts: {
      server: `the API server's address ${server}`,
      authority: `the ServiceAccount's ${join(directory, 'ca.crt')}`,
      credentials: `the ServiceAccount's ${join(directory, 'token')}`,
    },
    tls: () => ({ ca: ca.read() }),
    headers: () => ({ authorization: `Bearer ${token.read()}` }),
    refresh: () => {
      token.forget();
      ca.forget();
    },
  };
}
