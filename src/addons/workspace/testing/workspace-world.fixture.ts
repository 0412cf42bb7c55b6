import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as Channel, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, beforeAll } from 'vitest';
import { newAccount } from '#access/testing/new-account.ts';
import { NODES, type Node } from '#api/core.ts';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { createServerCertificates } from '#lab/apiserver/certificates.ts';
import type { Client } from '#runtime/client/client.ts';
import { createManager } from '#runtime/process/manager.ts';
import { serverNameOf } from '../../installation.ts';
import { type AddonWorld, useAddon } from '../../testing/addon-world.fixture.ts';
import { workspace } from '../addon.ts';
import { WORKSPACES } from '../api.ts';
import { workspaceGateway } from '../server/gateway.ts';
import { grpcService } from '../server/grpc-service.ts';
import { cloudIdeService } from '../server/service-definition.ts';
import { lateClock, runKubelet } from './workspace-kubelet.fixture.ts';

export interface Asked {
  /** Absent: a token with all rights to Workspaces of the namespace. '': no token. */
  token?: string;
  /** Milliseconds. Default 20,000. */
  withinMs?: number;
  signal?: AbortSignal;
  /** Bytes of fields that are unknown to the server. */
  more?: Buffer;
}
export interface Answered {
  code: string;
  details: string;
  value: unknown;
}

export interface WorkspaceWorld extends AddonWorld {
  /** Makes one call, as a separate client would. */
  call(method: string, message: object, asked?: Asked): Promise<Answered>;
  /** Returns a token of an account with these rights to Workspaces of the namespace. */
  tokenFor(verbs: readonly string[]): Promise<string>;
  /** Returns `127.0.0.1:port`. */
  address(): string;
  caPath(): string;
  certDir(): string;
  /** Stops the gRPC server as the end of its pod does. */
  stopServer(): Promise<void>;
  token(): string;
}

const ALL = ['get', 'list', 'create', 'update', 'delete'];
const codeName = (code: number): string =>
  Object.entries(status).find(([, value]) => value === code)?.[0] ?? `${code}`;

/**
 * Runs controller and gRPC server of Workspaces, each with exactly the rights of its installation. Call it at the top of a
 * test file of the `api` project. `observed` wraps the server's client.
 */
export function useWorkspaces(observed: (client: Client) => Client = (client) => client): WorkspaceWorld {
  const test = useAddon(workspace, lateClock);
  const undo: (() => Promise<unknown>)[] = [];
  let [port, dir, everything] = [0, '', ''];
  let ca = '';
  const stop = new AbortController();
  let ended: Promise<void> | undefined;
  let channel: Channel | undefined;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'workspaces-'));
    const made = await createServerCertificates();
    ca = made.ca;
    for (const [name, text] of [
      ['ca.crt', made.ca],
      ['tls.crt', made.cert],
      ['tls.key', made.key],
    ] as const)
      await writeFile(join(dir, name), text);
    const log = createLogger('silent');
    const own = await test.clientAs(serverNameOf(workspace));
    const { gateway, workspaces } = workspaceGateway({
      client: observed(own),
      clock: systemClock,
      log,
      audiences: [],
    });
    const listening = Promise.withResolvers<number>();
    const servers = [
      grpcService({
        gateway,
        port: 0,
        host: '127.0.0.1',
        certDir: dir,
        log,
        checkMs: 200,
        onListening: listening.resolve,
      }),
    ];
    ended = createManager({ servers, caches: [workspaces], log }).run(stop.signal);
    port = await listening.promise;
    await workspaces.whenSynced();
    channel = new Channel(`127.0.0.1:${port}`, credentials.createSsl(Buffer.from(ca)));
    const node = `${test.namespace}-node`;
    await test.client.create<Node>(NODES, { metadata: { name: node } });
    everything = await tokenFor(ALL);
    const stopKubelet = runKubelet(test.client, test.namespace, node);
    undo.push(
      stopKubelet,
      () => test.client.delete(NODES, { namespace: '', name: node }),
      () => own.close(),
    );
  });
  afterAll(async () => {
    channel?.close();
    stop.abort(new Error('stop'));
    await ended;
    for (const one of undo) await one();
    await rm(dir, { recursive: true, force: true });
  });

  const tokenFor = (verbs: readonly string[]): Promise<string> => {
    const rules = [{ apiGroups: [WORKSPACES.group], resources: [WORKSPACES.plural], verbs }];
    return newAccount(test.client, test.endpoint, test.namespace, [{ namespace: test.namespace, rules }]);
  };

  return Object.assign(test, {
    tokenFor,
    token: () => everything,
    address: () => `127.0.0.1:${port}`,
    caPath: () => join(dir, 'ca.crt'),
    certDir: () => dir,
    async stopServer() {
      stop.abort(new Error('stop'));
      await ended;
    },
    call(
      method: string,
      message: object,
      { token = everything, withinMs = 20_000, signal, more = Buffer.of() }: Asked = {},
    ) {
      const definition = cloudIdeService()[method];
      if (!definition || !channel) throw new Error(`there is no method ${method}`);
      const metadata = new Metadata();
      if (token !== '') metadata.set('authorization', `Bearer ${token}`);
      const answered = Promise.withResolvers<Answered>();
      const then = (error: ServiceError | null, value?: unknown) =>
        answered.resolve({
          code: codeName(error?.code ?? status.OK),
          details: error?.details ?? '',
          value,
        });
      const { path, requestSerialize, responseDeserialize } = definition;
      const options = { deadline: Date.now() + withinMs };
      const call = channel.makeUnaryRequest(
        path,
        (value: object) => Buffer.concat([requestSerialize(value), more]),
        responseDeserialize,
        message,
        metadata,
        options,
        then,
      );
      signal?.addEventListener('abort', () => call.cancel(), { once: true });
      return answered.promise;
    },
  });
}
