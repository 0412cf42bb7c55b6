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
  /** How often the certificate is looked at. Default 10,000. */
  checkMs?: number | undefined;
}

/** Whether a server can be given another certificate while it serves. */
const isTlsServer = (server: object): server is { setSecureContext(options: SecureContextOptions): void } =>
  'setSecureContext' in server;

/** Returns the readiness check of an app. */
export const isListening = (app: FastifyInstance) => (): string | undefined =>
  app.server.listening ? undefined : 'not listening';

/** An app as a service that takes up a new certificate while it serves. */
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

  function look(): void {
    try {
      const found = readPair(certDir);
      if (found.cert === present.cert && found.key === present.key) return;
      if (isTlsServer(app.server)) app.server.setSecureContext({ ...found, minVersion: 'TLSv1.2' });
      present = found;
      log.info({ service: name }, 'took up a new certificate');
    } catch (error) {
      // A pair that does not fit is mostly one that is being written: the next look decides.
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
      timer = setInterval(look, checkMs);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      // A connection whose answer is under way is idle after it, and would be kept for another request for a minute.
      app.server.keepAliveTimeout = 1;
      await app.close();
    },
  };
}
