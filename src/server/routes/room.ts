import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { User } from '#access/deeds.ts';
import type { Speakers } from '../attempts.ts';
import type { Auth } from '../auth.ts';
import type { ServerDeps } from '../deps.ts';
import type { LogStore } from '../log-store.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; set before any route of people is reached. */
    person: User;
  }
}

/** What routes have in common. */
export interface Room extends ServerDeps {
  auth: Auth;
  logs: LogStore;
  /** Aborts when the server stops: what streams must end then. */
  closing: AbortSignal;
}

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** Adds routes for people to a scope. */
export type Routes = (app: FastifyInstance, room: Room) => void;

/** What routes for Jobs have in common: who calls is an attempt, not a person. */
export interface JobRoom extends ServerDeps {
  speakers: Speakers;
  logs: LogStore;
}
export type JobRoutes = (app: App, room: JobRoom) => void;
