import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { ServerDeps } from '../http/deps.ts';
import type { Auth } from './auth.ts';
import type { JobCallers } from './job-caller.ts';

/** What routes for people have in common. */
export interface PeopleDeps extends ServerDeps {
  auth: Auth;
}

/** Adds routes for people to a scope. */
export type PeopleRoutes = (app: FastifyInstance, deps: PeopleDeps) => void;

/** What routes for Jobs have in common: the caller is an attempt, not a person. */
export interface JobDeps extends ServerDeps {
  callers: JobCallers;
}

/** A scope that checks what comes by the zod schemas of its routes. */
export type JobApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;
export type JobRoutes = (app: JobApp, deps: JobDeps) => void;
