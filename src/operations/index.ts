/** The operations on clusters: one descriptor for each, plans, and validation of specs. No I/O. */

import type { OperationName } from '#api/operation-values.ts';
import { create } from './create.ts';
import { remove } from './delete.ts';
import { moveEtcd } from './move-etcd.ts';
import type { Operation } from './operation.ts';
import { reconfigure } from './reconfigure.ts';
import { relabel } from './relabel.ts';
import { renew } from './renew.ts';
import { repair } from './repair.ts';
import { replace } from './replace.ts';
import { restore } from './restore.ts';
import { rollback } from './rollback.ts';
import { rotate } from './rotate.ts';
import { scaleDown } from './scale-down.ts';
import { scaleUp } from './scale-up.ts';
import { snapshot } from './snapshot.ts';
import { update } from './update.ts';

/** Every operation that is offered. */
export const operations: readonly Operation[] = [
  create,
  scaleUp,
  scaleDown,
  reconfigure,
  rotate,
  relabel,
  replace,
  moveEtcd,
  repair,
  renew,
  update,
  rollback,
  snapshot,
  restore,
  remove,
];

/** Returns the operation of that name; undefined if it is not offered. */
export const findOperation = (name: OperationName | undefined): Operation | undefined =>
  operations.find((operation) => operation.name === name);
