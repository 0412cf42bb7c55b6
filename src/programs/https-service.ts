import type { SecureContextOptions } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import { readPair } from '#certificates/read-pair.ts';
import type { Service } from '#runtime/process/manager.ts';

const CHECK_MS = 10_000;

export interface HttpsServiceOptions {
  name: string;
  app: FastifyInstance;
  port: number;
  host?: string | undefined;
  certDir: string;
  log: Logger;
  /** Interval between checks of the certificate. Default 10,000. */
  checkMs?: number | undefined;
}

/** Whether a server accepts another certificate while it serves. */
const isTlsServer = (server: object): server is { setSecureContext(options: SecureContextOptions): void } =>
  'setSecureContext' in server;

/** Returns the readiness check of an app. */
export const isListening = (app: FastifyInstance) => (): string | undefined =>
  app.server.listening ? undefined : 'not listening';

/** Runs an app as a service that reloads a changed certificate. */
export function httpsService({
  name,
  app,
  port,
  host = '::',
  certDir,
  log,
  checkMs = CHECK_MS,
}: HttpsServiceOptions): Service {
  let timer: ReturnType<typeof setInterval> | undefined;
  let present = readPair(certDir);

  function check(): void {
    try {
      const found = readPair(certDir);
      if (found.cert === present.cert && found.key === present.key) return;
      if (isTlsServer(app.server)) app.server.setSecureContext({ ...found, minVersion: 'TLSv1.2' });
      present = found;
      log.info({ service: name }, 'took up a new certificate');
    } catch (error) {
      // A pair that does not match is mostly a half-written one; the next check decides.
      log.warn(
        { service: name, error: messageOf(error) },
        'the certificate cannot be read; the last one stays',
      );
    }
  }

  return {
    name,
    async start() {
      await app.listen({ host, port });
      timer = setInterval(check, checkMs);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      // A connection becomes idle after its answer, and would stay open for a minute for another request.
      app.server.keepAliveTimeout = 1;
      await app.close();
    },
  };
}
