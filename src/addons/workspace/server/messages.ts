import { z } from 'zod';
import type { ObjectKey } from '#api/meta.ts';
import { type Workspace, type WorkspaceSpec, workspaceNameSchema, workspaceSpecSchema } from '../api.ts';
import { CallError } from './call-error.ts';

/** Converts messages of proto/cloud-ide.proto from and to Workspaces. */
export interface PodSpaceInfo {
  nodeName: string;
  ip: string;
  port: number;
}
export interface Reported {
  status: number;
  message: string;
}

export const SUCCESS: Reported = { status: 200, message: 'success' };
const EXISTS = 1;

const namespace = z
  .string()
  .min(1, 'is missing; name the namespace')
  .max(63, 'must have at most 63 characters')
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'must be a DNS label');
const name = z.string().min(1, 'is missing; name the workspace').pipe(workspaceNameSchema);
const queryOption = z.object({ name, namespace });

const { image, port, resources, storage } = workspaceSpecSchema.shape;
const limits = resources.unwrap().shape.limits.unwrap().shape;
/** proto3 has no absent text; an empty text means that the field is unset. */
const unset = (text: unknown): unknown => (text === '' ? undefined : text);
const podInfo = z.object({
  name,
  namespace,
  image: z.string().min(1, 'is missing; name an image').pipe(image),
  port,
  resourceLimit: z
    .object({
      cpu: z.preprocess(unset, limits.cpu),
      Memory: z.preprocess(unset, limits.memory),
      Storage: z.preprocess(unset, storage.unwrap().shape.size.optional()),
    })
    .nullish(),
});

/** Parses a message. Throws CallError INVALID_ARGUMENT that names every wrong field, its value and the valid values. */
function parsed<S extends z.ZodType>(schema: S, message: unknown): z.infer<S> {
  const result = schema.safeParse(message, { reportInput: true });
  if (result.success) return result.data;
  const wrong = result.error.issues.map(({ path, input, message: says }) => {
    const value = input === undefined || input === '' ? '' : ` ${JSON.stringify(input).slice(0, 100)}`;
    return `${path.join('.')}:${value} ${says}`;
  });
  throw new CallError('INVALID_ARGUMENT', wrong.join('; '));
}

export const keyFrom = (message: unknown): ObjectKey => parsed(queryOption, message);

/** Returns the Workspace that a PodInfo asks for. */
export function workspaceFrom(message: unknown): { key: ObjectKey; spec: WorkspaceSpec } {
  const { name, namespace, image, port, resourceLimit } = parsed(podInfo, message);
  const { cpu, Memory: memory, Storage: size } = resourceLimit ?? {};
  const limits = {
    ...(cpu === undefined ? {} : { cpu }),
    ...(memory === undefined ? {} : { memory }),
  };
  return {
    key: { namespace, name },
    spec: {
      image,
      port,
      ...(Object.keys(limits).length > 0 ? { resources: { limits } } : {}),
      ...(size === undefined ? {} : { storage: { size } }),
    },
  };
}

/** Returns the place of a running Workspace. Otherwise all fields except the port are empty. */
export const infoOf = ({ spec, status = {} }: Workspace): PodSpaceInfo => ({
  nodeName: status.nodeName ?? '',
  ip: status.ip ?? '',
  port: status.port ?? spec.port,
});

export const reportedOf = ({ status }: Workspace): Reported => ({
  status: EXISTS,
  message: status?.phase ?? 'Pending',
});
