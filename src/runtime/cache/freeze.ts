/** Freezes a JSON value deeply, because all readers of a cache share its objects. */
export function deepFreeze<T>(value: T): T {
  // A value with a frozen root was frozen here, and so its parts are too.
  if (isBranch(value) && !Object.isFrozen(value)) freeze(value);
  return value;
}

type Branch = Record<string, unknown> | unknown[];

/** Loops by index and by key: it takes half the time of Object.values, and large lists pass here. */
function freeze(branch: Branch): void {
  if (Array.isArray(branch)) {
    for (let at = 0; at < branch.length; at += 1) {
      const inner = branch[at];
      if (isBranch(inner)) freeze(inner);
    }
  } else {
    for (const key in branch) {
      const inner = branch[key];
      if (isBranch(inner)) freeze(inner);
    }
  }
  Object.freeze(branch);
}

function isBranch(value: unknown): value is Branch {
  return typeof value === 'object' && value !== null;
}
