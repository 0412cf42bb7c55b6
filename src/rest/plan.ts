import { z } from 'zod';
import { DUTIES } from '#api/cluster-host.ts';
import { ACTIONS, stepSchema } from '#protocol/run-spec.ts';
import { okSchema } from './answers.ts';

const problem = z.object({
  field: z.string().meta({ description: 'The field as the request spells it.' }),
  value: z.unknown().optional().meta({ description: 'The value.' }),
  reason: z.string().meta({ description: 'The reason, and what to write instead.' }),
});

/** Plan of an operation. */
export const planSchema = z
  .object({
    operation: z.string().meta({ description: 'Its name.' }),
    hash: z.string().meta({
      description: 'Hash of the plan; a request that names it in "plan" is refused if it is another.',
    }),
    kubeVersion: z
      .object({
        from: z.string().optional().meta({ description: 'The present version; left out at a creation.' }),
        to: z.string().meta({ description: 'The version after the operation.' }),
      })
      .optional()
      .meta({ description: 'Kubernetes, if the operation changes its version.' }),
    hosts: z
      .array(
        z.object({
          ip: z.string().meta({ description: 'Address of the host.' }),
          name: z.string().meta({ description: 'Name of its node.' }),
          duties: z.array(z.enum(DUTIES)).meta({ description: 'Duties of the host.' }),
          action: z.enum(ACTIONS).meta({ description: 'The action for the host.' }),
          reclaim: z
            .string()
            .optional()
            .meta({ description: 'Id of the cluster whose remains are wiped there first.' }),
        }),
      )
      .meta({ description: 'Every host that is connected to, or that changes.' }),
    release: z
      .array(z.string())
      .meta({ description: 'Hosts that no run ever reached: given back without a run.' }),
    steps: z
      .array(
        z.object({
          name: stepSchema.shape.name.meta({ description: 'As the log and status tell it.' }),
          hosts: stepSchema.shape.hosts.meta({ description: 'Addresses of the hosts that it works on.' }),
          pace: stepSchema.shape.pace.meta({ description: 'Number of hosts at once.' }),
          cut: stepSchema.shape.cut.meta({
            description: 'Where a cancellation may stop the run: between two tasks, or never before the end.',
          }),
        }),
      )
      .meta({ description: 'In order.' }),
    hooks: z
      .array(
        z.object({
          name: z.string().meta({ description: 'Its place in spec.hooks.' }),
          configMap: z.string().meta({ description: 'ConfigMap with the playbook.' }),
          key: z.string().meta({ description: 'Its key there.' }),
          sha256: z.string().meta({ description: 'SHA-256 of its text.' }),
        }),
      )
      .meta({ description: 'Playbooks that are run before and after the steps, in order.' }),
    refusals: z
      .array(problem)
      .meta({ description: 'Reasons for a refusal; empty when the operation would start.' }),
    warnings: z.array(problem).meta({ description: 'Warnings before the operation.' }),
  })
  .meta({ id: 'Plan', description: 'The work of the operation; nothing was written.' });
export type PlanAnswer = z.infer<typeof planSchema>;

/** Answer of a route that requests a change: with a dry run, it contains the plan. */
export const askedSchema = okSchema.extend({
  plan: planSchema.optional().meta({ description: 'With dryRun=All only.' }),
  requestId: z.string().optional().meta({
    description: 'Id of the request: status.operation.requestId is the same when its operation begins.',
  }),
});
