import { isApiError } from '#runtime/wire/api-error.ts';
import { unprocessable } from '../http/errors.ts';

/** Returns the answer of a list. Throws HttpError 422 if the API server cannot parse the label selector. */
export async function labelsOrRefusal<T>(
  labelSelector: string | undefined,
  list: () => Promise<T>,
): Promise<T> {
  try {
    return await list();
  } catch (error) {
    if (labelSelector === undefined || !isApiError(error, 'BadRequest')) throw error;
    const reason = 'is not a label selector; write it like team=blue';
    throw unprocessable([{ field: 'labelSelector', value: labelSelector, reason }]);
  }
}
