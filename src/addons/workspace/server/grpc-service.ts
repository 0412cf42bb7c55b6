import { experimental } from '@grpc/grpc-js';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import { readPair } from '#certificates/read-pair.ts';
import type { Service } from '#runtime/process/manager.ts';
import type { Gateway } from './server.ts';

const CHECK_MS = 10_000;

export interface GrpcServiceOptions {
  gateway: Gateway;
  port: number;
  host?: string | undefined;
  /** Directory with tls.crt and tls.key. */
  certDir: string;
  log: Logger;
  /** Interval between checks of the certificate. Default 10,000. */
  checkMs?: number | undefined;
  /** Gets the actual port. */
  onListening?: (port: number) => void;
}

type Listener = Parameters<
  InstanceType<typeof experimental.FileWatcherCertificateProvider>['addIdentityCertificateListener']
>[0];

/** Provides a gRPC server with certificate and key from a directory, again after each change. Throws as readPair does. */
function certificatesOf(certDir: string, log: Logger, checkMs: number) {
  const listeners = new Set<Listener>();
  let present = readPair(certDir);
  const given = () => ({ certificate: Buffer.from(present.cert), privateKey: Buffer.from(present.key) });
  const check = () => {
    try {
      const found = readPair(certDir);
      if (found.cert === present.cert && found.key === present.key) return;
      present = found;
      for (const listener of listeners) listener(given());
      log.info({ service: 'grpc' }, 'took up a new certificate');
    } catch (error) {
      // A pair that does not match is mostly a half-written one; the next check decides.
      log.warn({ error: messageOf(error) }, 'the certificate cannot be read; the last one stays');
    }
  };
  const timer = setInterval(check, checkMs);
  timer.unref();
  return {
    stop: () => clearInterval(timer),
    provider: {
      addCaCertificateListener: () => {},
      removeCaCertificateListener: () => {},
      addIdentityCertificateListener(listener: Listener) {
        listeners.add(listener);
        process.nextTick(listener, given());
      },
      removeIdentityCertificateListener: (listener: Listener) => void listeners.delete(listener),
    },
  };
}

/** Runs a gateway as a service over TLS, which reloads a changed certificate. */
export function grpcService(options: GrpcServiceOptions): Service {
  const { gateway, port, host = '[::]', certDir, log, checkMs = CHECK_MS, onListening } = options;
  const { stop, provider } = certificatesOf(certDir, log, checkMs);
  return {
    name: 'grpc',
    start: () =>
      new Promise((resolve, reject) => {
        const credentials = experimental.createCertificateProviderServerCredentials(provider, null, false);
        gateway.server.bindAsync(`${host}:${port}`, credentials, (error, bound) => {
          if (error) return reject(error);
          onListening?.(bound);
          resolve();
        });
      }),
    async stop() {
      stop();
      await gateway.close();
    },
  };
}
