import { sayOnStderr } from '../artifacts/progress.ts';
import { buildHistory } from './run.ts';

// Built before e2e tests run: two of them would compile it at once, and use each other's processors for minutes.
await buildHistory(sayOnStderr);
