import { expect, it } from 'vitest';
import { annotations } from '#api/names.ts';
import { createManualClock } from '#base/testing/manual-clock.ts';
import type { Client } from '#runtime/client/client.ts';
import { ApiError } from '#runtime/wire/api-error.ts';
import { admissionAnswers } from './admission.ts';

type Said = 'kept out' | 'not asked' | 'asked' | 'refused';

/** Returns a client whose API server gives these answers in order, and then repeats the last one. */
function serverThat(...says: [Said, ...Said[]]) {
  const asked: unknown[] = [];
  const create: Client['create'] = async (_resource, object, options) => {
    const said = says[Math.min(asked.length, says.length - 1)];
    asked.push(options);
    if (said === 'kept out')
      throw new ApiError('InternalError', 'failed calling webhook: connection refused', { status: 500 });
    if (said === 'refused') throw new ApiError('Forbidden', 'not here', { status: 403 });
    const annotationsSet = said === 'asked' ? { [annotations.requestedBy]: '{}' } : {};
    return { ...object, metadata: { ...object.metadata, annotations: annotationsSet } };
  };
  return { create, asked };
}

it.each<[string, [Said, ...Said[]]]>([
  ['a webhook that no packet reaches yet', ['kept out', 'kept out', 'asked']],
  ['a configuration that is not taken up yet', ['not asked', 'kept out', 'asked']],
  ['nothing where somebody refuses', ['kept out', 'refused']],
])('waits for %s, and creates nothing', async (_, says) => {
  const clock = createManualClock();
  const server = serverThat(...says);
  const answered = admissionAnswers(server, clock);
  await clock.advance(5_000);
  await answered;
  expect(server.asked).toEqual(says.map(() => ({ dryRun: true })));
});

it('fails after a minute, and reports the reason', async () => {
  const clock = createManualClock();
  const given = expect(admissionAnswers(serverThat('kept out'), clock)).rejects.toThrow(
    /within 60 s \(failed calling webhook: connection refused\); check the pods of matryoshka-webhook/,
  );
  await clock.advance(61_000);
  await given;
});
