/** Serves Workspaces over gRPC: authenticates callers, checks their rights, and waits until a Workspace runs. */

import { randomUUID } from 'node:crypto';
import { type handleUnaryCall, Server, type ServerUnaryCall, status } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { HealthImplementation } from 'grpc-health-check';
import type { Clock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import { CallError, type Code, callErrorOf } from './call-error.ts';
import type { Callers } from './callers.ts';
import type { Methods } from './methods.ts';
import { answered, cloudIdeService, SERVICE } from './service-definition.ts';

/** Longest wait, regardless of the caller's deadline. */
const MAX_WAIT_MS = 600_000;
/** Concurrent calls of one user, so that one user cannot take all places. */
const MAX_OF_ONE = 2_000;
/** Time for the last answers, before open streams are closed. */
const GOODBYE_MS = 2_000;
/** Returns the time that stays of a deadline when the server ends a call itself, so that its reason reaches the caller. */
const marginMs = (leftMs: number): number => Math.min(500, leftMs / 5);
/** Limit of a status message, which is sent in a header. */
const MAX_DETAILS = 2_000;
const MAX_MESSAGE_BYTES = 65_536;
/** Intervals after which the server notices a caller that disappeared. */
const KEEPALIVE = { 'grpc.keepalive_time_ms': 30_000, 'grpc.keepalive_timeout_ms': 10_000 };

export interface GatewayDeps {
  methods: Methods;
  callers: Callers;
  clock: Clock;
  log: Logger;
}

export interface Gateway {
  server: Server;
  /** Accepts calls from now on. */
  open(): void;
  /**
   * Ends waiting calls with UNAVAILABLE, and accepts no more. Resolves when every call has its answer; other streams are
   * closed 2 s later.
   */
  close(): Promise<void>;
}

/** Creates the gRPC server of Workspaces, not yet bound to a port. */
export function createGateway(deps: GatewayDeps): Gateway {
  const { methods, callers, clock, log } = deps;
  const server = new Server({
    ...KEEPALIVE,
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_concurrent_streams': 10_000,
  });
  const closing = new AbortController();
  const health = new HealthImplementation({ '': 'NOT_SERVING', [SERVICE]: 'NOT_SERVING' });
  let isOpen = false;
  const answering = new Set<Promise<unknown>>();
  const pending = new Map<string, number>();
  const enter = (username: string) => {
    const others = pending.get(username) ?? 0;
    if (others >= MAX_OF_ONE)
      throw new CallError('RESOURCE_EXHAUSTED', `${others} calls of yours wait already; try again later`);
    pending.set(username, others + 1);
  };
  const leave = (username: string) => {
    const others = (pending.get(username) ?? 1) - 1;
    if (others > 0) pending.set(username, others);
    else pending.delete(username);
  };

  async function answer(
    name: string,
    method: Methods[string],
    call: ServerUnaryCall<unknown, unknown>,
  ): Promise<unknown> {
    if (closing.signal.aborted || !isOpen)
      throw new CallError('UNAVAILABLE', 'the server is starting or stopping; try again');
    const nowMs = clock.now().getTime();
    const deadline = call.getDeadline();
    const leftMs = (deadline instanceof Date ? deadline.getTime() : deadline) - nowMs;
    if (leftMs <= 0) throw new CallError('DEADLINE_EXCEEDED', 'the deadline is over');
    const ending = new AbortController();
    const end = (code: Code, why: string) => ending.abort(new CallError(code, why));
    const waitMs = Math.min(leftMs - marginMs(leftMs), MAX_WAIT_MS);
    const cancelTimer = clock.after(waitMs, () =>
      end('DEADLINE_EXCEEDED', `not within ${Math.round(waitMs / 100) / 10} s`),
    );
    const onClosing = () => end('UNAVAILABLE', 'the server is stopping; try again');
    closing.signal.addEventListener('abort', onClosing, { once: true });
    call.once('cancelled', () => end('CANCELLED', 'the caller has gone'));
    let username = '';
    let hasEntered = false;
    try {
      const person = await callers.personOf(call.metadata);
      username = person.username;
      enter(username);
      hasEntered = true;
      const value = await method({
        id: randomUUID(),
        message: call.request,
        signal: ending.signal,
        endsAtMs: nowMs + waitMs,
        allow: (verb, key) => callers.allow(person, verb, key),
      });
      log.info({ method: name, user: username, code: 'OK' }, 'called');
      return value;
    } catch (error) {
      const failed = callErrorOf(
        error instanceof CallError || !ending.signal.aborted ? error : ending.signal.reason,
      );
      const level = failed.code === 'INTERNAL' || failed.code === 'UNAVAILABLE' ? 'error' : 'info';
      const why = messageOf(error);
      log[level]({ method: name, user: username, code: failed.code, error: why }, 'called');
      throw failed;
    } finally {
      if (hasEntered) leave(username);
      cancelTimer();
      closing.signal.removeEventListener('abort', onClosing);
    }
  }

  const handlerOf =
    (name: string, method: Methods[string]): handleUnaryCall<unknown, unknown> =>
    (call, callback) => {
      const running = answer(name, method, call);
      answering.add(running);
      running.finally(() => answering.delete(running)).catch(() => {});
      running.then(
        (value) => callback(null, value),
        (error) => {
          const { code, message } = callErrorOf(error);
          callback({ code: status[code], details: message.slice(0, MAX_DETAILS) });
        },
      );
    };

  server.addService(
    cloudIdeService(),
    Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, handlerOf(name, method)])),
  );
  health.addToServer(server);
  new ReflectionService(answered).addToServer(server);

  return {
    server,
    open() {
      isOpen = true;
      for (const one of ['', SERVICE]) health.setStatus(one, 'SERVING');
    },
    close() {
      for (const one of ['', SERVICE]) health.setStatus(one, 'NOT_SERVING');
      closing.abort(new Error('closing'));
      return new Promise((resolve) => {
        let cut = () => {};
        server.tryShutdown(() => {
          cut();
          resolve();
        });
        // A Watch call of the health service stays open as long as its caller wants.
        void Promise.allSettled(answering).then(() => {
          cut = clock.after(GOODBYE_MS, () => server.forceShutdown());
        });
      });
    },
  };
}
