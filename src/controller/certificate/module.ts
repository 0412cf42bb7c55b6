import { SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import { AUTHORITY_SECRET, SERVER_CERTIFICATE_SECRET } from '#api/names.ts';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { renewalOf, renewed } from '#certificates/certificates.ts';
import { createInformer, type Informer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';
import { type Controller, createController } from '#runtime/controller/controller.ts';

export interface CertificateModuleDeps {
  client: Client;
  clock: Clock;
  log: Logger;
  /** The operator's namespace. */
  namespace: string;
}

const HOUR_MS = 3_600_000;
const LOOK_MS = 12 * HOUR_MS;

/** The cache needs to know until when a certificate lasts, and no key. */
const withoutKey = ({ data, ...rest }: Secret): Secret => ({
  ...rest,
  metadata: { ...rest.metadata, managedFields: [] },
  data: data?.['tls.crt'] === undefined ? {} : { 'tls.crt': data['tls.crt'] },
});

/**
 * Renews the certificate of REST API and webhook while a third of its life is left, from the authority that the
 * installation made: without it, every write of a cluster would be refused once it ends. The server takes up the files
 * of the Secret while it serves. A certificate of another authority is left to whoever put it there.
 */
export function certificateModule({ client, clock, log, namespace }: CertificateModuleDeps): {
  controllers: Controller[];
  caches: Informer<KubeObject>[];
} {
  const secrets = createInformer<Secret>({
    client,
    clock,
    log,
    resource: SECRETS,
    selection: { namespace, fieldSelector: `metadata.name=${SERVER_CERTIFICATE_SECRET}` },
    transform: withoutKey,
  });

  const controller = createController<Secret>({
    name: 'certificate',
    for: secrets,
    clock,
    log,
    async reconcile(key, { signal, wrote }) {
      const secret = secrets.get(key);
      const cert = secretText(secret, 'tls.crt');
      if (!secret || cert === undefined) return undefined;
      const now = clock.now();
      const untilMs = renewalOf(cert).getTime() - now.getTime();
      if (untilMs > 0) return { requeueAfterMs: Math.min(untilMs, LOOK_MS) };
      const authority = await client.find<Secret>(SECRETS, { namespace, name: AUTHORITY_SECRET }, { signal });
      const [caCert, caKey] = [secretText(authority, 'tls.crt'), secretText(authority, 'tls.key')];
      const next =
        caCert === undefined || caKey === undefined
          ? undefined
          : await renewed({ cert: caCert, key: caKey }, cert, now);
      if (!next) {
        log.warn(
          { secret: key.name },
          'the certificate nears its end and is not renewed: its authority is not ours, is gone, or ends too; run "matryoshka bootstrap" again',
        );
        return { requeueAfterMs: LOOK_MS };
      }
      const { uid, resourceVersion } = secret.metadata;
      const change = {
        metadata: { uid, resourceVersion },
        data: secretData({ 'tls.crt': next.cert, 'tls.key': next.key }),
      };
      wrote(await client.patch<Secret>(SECRETS, key, change, { type: 'merge', signal }));
      log.info({ secret: key.name }, 'renewed the certificate');
      return undefined;
    },
  });
  return { controllers: [controller], caches: [secrets] };
}
