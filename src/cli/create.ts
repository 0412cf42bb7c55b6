import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { LISTS } from '#api/host.ts';
import { createBody, createCluster } from '#rest/asking.ts';
import { request } from './ask.ts';
import { hostsOf } from './change.ts';
import { API_VERSION, KIND } from './clusters.ts';
import { type Flags, wrongUse } from './failure.ts';
import type { Io } from './io.ts';
import type { requestOptions } from './options.ts';
import { readNamed, type Session, withSession } from './session.ts';

type Options = z.output<z.ZodObject<typeof requestOptions>> & {
  filename?: string | undefined;
  controlPlanes?: string | undefined;
  workers?: string | undefined;
  sshKey?: string | undefined;
  credentialsSecret?: string | undefined;
  kubeVersion?: string | undefined;
};

/** A cluster that a command creates: the address, and the body of the request. */
interface Creation {
  name: string | undefined;
  namespace: string | undefined;
  region: string | undefined;
  body: Readonly<Record<string, unknown>>;
}

const objectSchema = z.looseObject({
  apiVersion: z.literal(API_VERSION, { error: `is not "${API_VERSION}"` }),
  kind: z.literal(KIND, { error: `is not "${KIND}"` }),
  metadata: z.looseObject({
    name: z.string({ error: 'is missing' }),
    namespace: z.string().optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  spec: z.looseObject({ cluster: z.looseObject({ region: z.string().optional() }) }),
});

const OPERATION = 'app.kubernetes.io/operation';

/** Names in the body of fields of `spec.cluster`. */
const BODY_NAMES: Readonly<Record<string, string>> = { timeout_mins: 'timeoutMins' };

/** Returns the name that was probably meant, as part of a sentence. */
function meant(key: string, known: readonly string[]): string {
  const near = known.find((one) => one.toLowerCase() === key.toLowerCase());
  return near === undefined ? '' : ` (did you mean ${near}?)`;
}

/** Returns the creation of a KubernetesCluster. Throws CommandFailure that names what REST does not take. */
function creationOf(object: unknown, from: string): Creation {
  const parsed = objectSchema.safeParse(object);
  if (!parsed.success) {
    const wrong = parsed.error.issues.map(({ path, message }) =>
      path.length === 0 ? `${from}: is not a KubernetesCluster` : `${from}: ${path.join('.')} ${message}`,
    );
    throw wrongUse(wrong.join('\n'));
  }
  const { metadata, spec } = parsed.data;
  const { cluster, ...others } = spec;
  const { region, ...fields } = cluster;
  const body = Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [BODY_NAMES[key] ?? key, value]),
  );
  const known = createBody.shape;
  const { name: _name, namespace: _namespace, annotations: given, ...more } = metadata;
  const unknown = [
    ...Object.keys(more).map((key) => `metadata.${key}`),
    // Every creation by REST is a request to create.
    ...Object.keys(given ?? {})
      .filter((key) => key !== OPERATION)
      .map((key) => `metadata.annotations[${key}]`),
    ...Object.keys(others).map((key) => `spec.${key}`),
    ...Object.keys(body)
      .filter((key) => !(key in known))
      .map((key) => `spec.cluster.${key}${meant(key, Object.keys(known))}`),
  ];
  if (unknown.length > 0)
    throw wrongUse(
      `${from}: a creation by REST does not take ${unknown.join(', ')}; leave that out, or apply the file with kubectl`,
    );
  return { name: metadata.name, namespace: metadata.namespace, region, body };
}

async function readObject(path: string, io: Io): Promise<Creation> {
  const text = path === '-' ? await io.input() : readNamed(path, '--filename');
  const from = path === '-' ? 'standard input' : path;
  const documents = parseAllDocuments(text);
  const [first, ...more] = Array.isArray(documents) ? documents.filter((one) => one.contents !== null) : [];
  if (!first) throw wrongUse(`${from}: there is no object in it`);
  if (more.length > 0) throw wrongUse(`${from}: has ${more.length + 1} objects; give one KubernetesCluster`);
  const [error] = first.errors;
  if (error) throw wrongUse(`${from}: ${error.message.split('\n')[0]?.replace(/:$/, '')}`);
  return creationOf(first.toJS(), from);
}

/** Flags of fields of the body. */
const FLAG_OF: Flags = {
  masterList: '--control-planes',
  nodeList: '--workers',
  credentialsSecret: '--credentials-secret',
  kubeVersion: '--kube-version',
  privateSSHKey: '--ssh-key',
};

/** Returns the fields that flags give. */
function flagged({
  controlPlanes,
  workers,
  credentialsSecret,
  kubeVersion,
  sshKey,
}: Options): Readonly<Record<string, unknown>> {
  return {
    ...(controlPlanes === undefined ? {} : { masterList: hostsOf(controlPlanes, '--control-planes') }),
    ...(workers === undefined ? {} : { nodeList: hostsOf(workers, '--workers') }),
    ...(credentialsSecret === undefined ? {} : { credentialsSecret }),
    ...(kubeVersion === undefined ? {} : { kubeVersion }),
    ...(sshKey === undefined ? {} : { privateSSHKey: readNamed(sshKey, '--ssh-key') }),
  };
}

/** Creates a cluster from a file, from flags, or from both: flags replace fields of the file. */
export async function create(name: string | undefined, options: Options, io: Io): Promise<void> {
  const read = options.filename === undefined ? undefined : await readObject(options.filename, io);
  const wanted = name ?? read?.name;
  if (wanted === undefined)
    throw wrongUse(
      'there is no name; write "matryoshka create NAME --control-planes …", or give a file with -f',
    );
  if (name !== undefined && read?.name !== undefined && read.name !== name)
    throw wrongUse(`${name} is not the name in ${options.filename}, which is ${read.name}`);
  const given = flagged(options);
  const body = { ...read?.body, ...given };
  if (!LISTS.some((list) => list in body))
    throw wrongUse('--control-planes: is missing; write it like 192.0.2.11, or give a file with -f');
  if (!('privateSSHKey' in body) && !('credentialsSecret' in body))
    throw wrongUse(
      '--ssh-key: is missing; name the file of the private SSH key of the hosts, or a Secret with --credentials-secret',
    );
  const work = (session: Session) =>
    request(
      session,
      io,
      {
        name: wanted,
        route: createCluster,
        address: {
          params: { region: options.region ?? read?.region ?? 'default', name: wanted },
          query: { namespace: options.namespace ?? read?.namespace ?? session.namespace },
        },
        body,
        flags: Object.fromEntries(Object.entries(FLAG_OF).filter(([field]) => field in given)),
      },
      options,
    );
  await withSession({ ...options, namespace: options.namespace ?? read?.namespace }, work);
}
