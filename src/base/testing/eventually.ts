import { sleep } from '../clock.ts';

/** Waits until a call of `ask` returns a value. */
export async function eventually<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (let tried = 0; tried < 100; tried += 1) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await sleep(100);
  }
  throw new Error('not within 10 s');
}
