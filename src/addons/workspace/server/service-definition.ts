import { join } from 'node:path';
import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** Beside this file, and beside the bundle. */
const PROTOS = join(import.meta.dirname, 'proto');
const PROTO = join(PROTOS, 'cloud-ide.proto');
export const SERVICE = 'pb.CloudIdeService';

/** Names stay as they are there; fields that are not set have their zero. */
const definitions = loadSync(PROTO, { keepCase: true, defaults: true });
/** All that the server answers, for reflection. */
export const answered = { ...definitions, ...loadSync(join(PROTOS, 'health.proto'), { keepCase: true }) };

/** The service alone. Throws where the file has none. */
export function cloudIdeService(): ServiceDefinition<UntypedServiceImplementation> {
  const found = definitions[SERVICE];
  if (!found || 'format' in found) throw new Error(`${PROTO} has no service ${SERVICE}`);
  return found;
}
