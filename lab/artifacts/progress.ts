/** Prints one line, for a user or a log. */
export type Say = (line: string) => void;

export const sayOnStderr: Say = (line) => process.stderr.write(`${line}\n`);

/** Runs `work`. It reports every ten seconds that the work goes on, and its duration at the end. */
export async function announced<T>(say: Say, what: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const seconds = () => ((performance.now() - start) / 1000).toFixed(1);
  say(`${what} …`);
  const timer = setInterval(() => say(`${what} … ${seconds()} s`), 10_000);
  try {
    const result = await work();
    say(`${what}: ${seconds()} s`);
    return result;
  } finally {
    clearInterval(timer);
  }
}
