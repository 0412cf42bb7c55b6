import { X509Certificate } from 'node:crypto';
import { SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import { AUTHORITY_SECRET, SERVER_CERTIFICATE_SECRET, WEBHOOK_CERTIFICATE_SECRET } from '#api/names.ts';
import { renewalOf, renewed } from '#certificates/certificates.ts';
import { createController } from '#runtime/controller/controller.ts';
import type { ControllerHost, ControllerModule } from '#runtime/process/controller-host.ts';
import { metaCertificate } from './meta.ts';

const HOUR_MS = 3_600_000;
const CHECK_MS = 12 * HOUR_MS;
const NOT_RENEWED =
  'the certificate nears its end and is not renewed: its authority is not ours, is gone, or ends too; run "matryoshka bootstrap" again';

/** Removes the private key: the cache needs only the expiry of a certificate. */
const withoutKey = ({ data, ...rest }: Secret): Secret => ({
  ...rest,
  metadata: { ...rest.metadata, managedFields: [] },
  data: data?.['tls.crt'] === undefined ? {} : { 'tls.crt': data['tls.crt'] },
});

export interface CertificateModuleSettings {
  /** Returns when the certificate of the meta cluster's API server ends. */
  servedUntil: () => Promise<Date>;
}

/**
 * Renews the certificates of REST API and webhook while a third of their lifetime is left, from the authority that the
 * installation created. Without that, the API server would refuse every write of a cluster after the expiry. Both programs
 * reload the files of their Secret while they serve. A certificate of another authority is left to its owner.
 */
export const certificateModule =
  ({ servedUntil }: CertificateModuleSettings): ControllerModule =>
  (host) => [
    renewing(host, 'certificate', SERVER_CERTIFICATE_SECRET),
    renewing(host, 'webhook-certificate', WEBHOOK_CERTIFICATE_SECRET),
    metaCertificate(host, secretsNamed(host, SERVER_CERTIFICATE_SECRET), servedUntil),
  ];

const secretsNamed = ({ namespace, informer }: ControllerHost, name: string) =>
  informer<Secret>(SECRETS, {
    selection: { namespace, fieldSelector: `metadata.name=${name}` },
    transform: withoutKey,
  });

function renewing(host: ControllerHost, name: string, secret: string) {
  const { client, clock, log, namespace, recorder, metrics } = host;
  const secrets = secretsNamed(host, secret);
  const observe = metrics?.expiry(secret);

  return createController<Secret>({
    name,
    for: secrets,
    clock,
    log,
    async reconcile(key, { signal, wrote }) {
      const present = secrets.get(key);
      const cert = secretText(present, 'tls.crt');
      if (!present || cert === undefined) return undefined;
      observe?.(new X509Certificate(cert).validToDate);
      const now = clock.now();
      const untilMs = renewalOf(cert).getTime() - now.getTime();
      if (untilMs > 0) return { requeueAfterMs: Math.min(untilMs, CHECK_MS) };
      const authority = await client.find<Secret>(SECRETS, { namespace, name: AUTHORITY_SECRET }, { signal });
      const [caCert, caKey] = [secretText(authority, 'tls.crt'), secretText(authority, 'tls.key')];
      const next =
        caCert === undefined || caKey === undefined
          ? undefined
          : await renewed({ cert: caCert, key: caKey }, cert, now);
      if (!next) {
        log.warn({ secret: key.name }, NOT_RENEWED);
        recorder.event(present, 'Warning', 'CertificateNotRenewed', NOT_RENEWED);
        return { requeueAfterMs: CHECK_MS };
      }
      const { uid, resourceVersion } = present.metadata;
      const change = {
        metadata: { uid, resourceVersion },
        data: secretData({ 'tls.crt': next.cert, 'tls.key': next.key }),
      };
      wrote(await client.patch<Secret>(SECRETS, key, change, { type: 'merge', signal }));
      log.info({ secret: key.name }, 'renewed the certificate');
      return undefined;
    },
  });
}
