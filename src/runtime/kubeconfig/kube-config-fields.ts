/** Reads the untyped parts of a kubeconfig; errors name the wrong part. */
export type Record_ = Readonly<Record<string, unknown>>;

export function record(value: unknown): Record_ | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
}

/** Returns a list of the file; an absent list is empty. */
export function list(config: Record_, name: string): readonly unknown[] {
  const value = config[name] ?? [];
  if (!Array.isArray(value)) throw new Error(`${name} is no list`);
  return value;
}

/** Returns the entry `name` of the list `of`: `{name, [inner]: {...}}`. */
export function named(config: Record_, of: string, inner: string, name: string): Record_ {
  const entries = list(config, of).map(record);
  const entry = entries.find((candidate) => candidate?.['name'] === name);
  if (!entry) {
    const names = entries.map((candidate) => candidate?.['name']).filter((one) => typeof one === 'string');
    throw new Error(
      `no ${inner} '${name}'; there ${names.length === 1 ? 'is' : 'are'}: ${names.join(', ') || 'none'}`,
    );
  }
  const body = record(entry[inner] ?? {});
  if (!body) throw new Error(`${inner} '${name}' is no mapping`);
  return body;
}

/** Returns an optional text field. */
export function text(of: Record_, name: string, at: string): string | undefined {
  const value = of[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw new Error(`${at === '' ? '' : `${at}: `}${name} is no string`);
  return value;
}

/** Returns a required text field. */
export function field(of: Record_, name: string, at: string): string {
  const value = text(of, name, at);
  if (value === undefined) throw new Error(`${at} has no ${name}`);
  return value;
}
