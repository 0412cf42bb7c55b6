import type { Dispatcher } from 'undici';

type Options = Pick<Dispatcher.DispatchOptions, 'method' | 'path' | 'headers' | 'body' | 'reset'>;

export interface Gathered {
  status: number;
  retryAfter: string | undefined;
  text: string;
}

/**
 * Sends one request and collects its answer as text, with callbacks of the dispatcher: the stream that undici creates for
 * each body costs more than the exchange itself. Rejects with the signal's reason at once, also while the request waits for
 * a connection.
 */
export function gather(pool: Dispatcher, options: Options, signal: AbortSignal): Promise<Gathered> {
  return new Promise((resolve, reject) => {
    let running: Dispatcher.DispatchController | undefined;
    let status = 0;
    let retryAfter: string | undefined;
    const chunks: Buffer[] = [];
    const onAbort = () => {
      running?.abort(reasonOf(signal));
      reject(reasonOf(signal));
    };
    const cleanUp = () => signal.removeEventListener('abort', onAbort);
    if (signal.aborted) return void reject(reasonOf(signal));
    signal.addEventListener('abort', onAbort, { once: true });
    pool.dispatch(options, {
      onRequestStart(controller) {
        running = controller;
        if (signal.aborted) controller.abort(reasonOf(signal));
      },
      onResponseStart(_controller, statusCode, headers) {
        status = statusCode;
        const said = headers['retry-after'];
        retryAfter = Array.isArray(said) ? said[0] : said;
      },
      onResponseData(_controller, chunk) {
        chunks.push(chunk);
      },
      onResponseEnd() {
        cleanUp();
        const [first] = chunks;
        const body = chunks.length === 1 && first ? first : Buffer.concat(chunks);
        resolve({ status, retryAfter, text: body.toString('utf8') });
      },
      onResponseError(_controller, error) {
        cleanUp();
        reject(error);
      },
    });
  });
}

function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
