import { sayOnStderr } from '../artifacts/progress.ts';
import { buildHistory } from './run.ts';

// Before files of e2e run: two of them would compile it at once, and take each other's processors for minutes.
await buildHistory(sayOnStderr);
