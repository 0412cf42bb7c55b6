import type { Secret } from '#api/core.ts';
import { messageOf } from '#base/errors.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import { type Controller, createController } from '#runtime/controller/controller.ts';
import type { ControllerHost } from '#runtime/process/controller-host.ts';

const HOUR_MS = 3_600_000;
const CHECK_MS = 6 * HOUR_MS;
const AGAIN_MS = 60_000;
const SOON_MS = 30 * 24 * HOUR_MS;

/**
 * Reports when the certificate of the meta cluster's API server ends, as a metric, and as an Event about the Secret during
 * the last 30 days. kubeadm issues all certificates of a control plane together, so the others end at about that time.
 */
export function metaCertificate(
  { clock, log, recorder, metrics }: ControllerHost,
  secrets: Informer<Secret>,
  servedUntil: () => Promise<Date>,
): Controller {
  const observe = metrics?.expiry('meta-cluster');
  return createController<Secret>({
    name: 'meta-certificate',
    for: secrets,
    clock,
    log,
    async reconcile(key) {
      const present = secrets.get(key);
      if (!present) return undefined;
      let end: Date;
      try {
        end = await servedUntil();
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'the end of the API server certificate is unknown');
        return { requeueAfterMs: AGAIN_MS };
      }
      observe?.(end);
      if (end.getTime() - clock.now().getTime() > SOON_MS) return { requeueAfterMs: CHECK_MS };
      const message = `the certificates of the meta cluster end at ${end.toISOString()}; run "matryoshka bootstrap" again before, which renews them`;
      log.warn({ end: end.toISOString() }, message);
      recorder.event(present, 'Warning', 'MetaCertificatesEndSoon', message);
      return { requeueAfterMs: CHECK_MS };
    },
  });
}
