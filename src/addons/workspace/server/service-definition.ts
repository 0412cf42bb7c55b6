import { join } from 'node:path';
import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** Directory beside this file, and beside the bundle. */
const PROTOS = join(import.meta.dirname, 'proto');
const PROTO = join(PROTOS, 'cloud-ide.proto');
export const SERVICE = 'pb.CloudIdeService';

/** Keeps the names of the file; unset fields have their zero value. */
const definitions = loadSync(PROTO, { keepCase: true, defaults: true });
/** Served definitions, for reflection. */
export const answered = { ...definitions, ...loadSync(join(PROTOS, 'health.proto'), { keepCase: true }) };

/** Returns the service definition. Throws if the file has none. */
export function cloudIdeService(): ServiceDefinition<UntypedServiceImplementation> {
  const found = definitions[SERVICE];
  if (!found || 'format' in found) throw new Error(`${PROTO} has no service ${SERVICE}`);
  return found;
}
