import { Alert, Text } from '@mantine/core';
import { problemText } from './api.ts';
import { PlanView } from './plan-view.tsx';
import type { FieldSchema } from './schema.ts';
import type { Planned } from './use-plan.ts';

/** Shows what the server answers to a form: problems of no field, the last refusal, and the plan. */
export function PlanResult({
  planned: { plan, problems, refusal: why, isBusy },
  fields,
  refusal,
}: {
  planned: Planned;
  fields: readonly FieldSchema[] | undefined;
  /** Why the request itself was refused. */
  refusal: string | undefined;
}) {
  const general = problems.filter(({ field }) => !fields?.some((one) => field.startsWith(one.name)));
  const last = refusal ?? why;
  return (
    <>
      {general.map(problemText).map((text) => (
        <Alert key={text} color="red" role="alert">
          {text}
        </Alert>
      ))}
      {last !== undefined && (
        <Alert color="red" role="alert">
          {last}
        </Alert>
      )}
      {plan && <PlanView plan={plan} />}
      <Text size="sm" role="status">
        {isBusy ? 'Planning…' : ''}
      </Text>
    </>
  );
}
