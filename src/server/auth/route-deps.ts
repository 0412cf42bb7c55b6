import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { ServerDeps } from '../http/deps.ts';
import type { Auth } from './auth.ts';
import type { JobCaller, JobCallers } from './job-caller.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The calling attempt, at most a few seconds old; set before the body of a Job's request is read. */
    job: JobCaller;
  }
}

/** Dependencies of all routes for users. */
export interface PeopleDeps extends ServerDeps {
  auth: Auth;
}

/** Dependencies of routes that stream. */
export interface LiveDeps extends PeopleDeps {
  /** Aborts when the server stops, which ends all streams. */
  closing: AbortSignal;
}

/** Adds routes for users to a scope. */
export type PeopleRoutes = (app: FastifyInstance, deps: PeopleDeps) => void;

/** Dependencies of all routes for Jobs: the caller is an attempt, not a user. */
export interface JobDeps extends ServerDeps {
  callers: JobCallers;
}

/** A scope that validates requests with the zod schemas of its routes. */
export type JobApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;
