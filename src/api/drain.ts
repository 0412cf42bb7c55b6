import { z } from 'zod';

/** The longest time that the pods of one node may take to leave. */
const MAX_SECONDS = 86_400;

/** The drain of nodes that leave: `spec.cluster.drain`. Each field is named like its kubectl flag. */
export const drainSchema = z.object({
  timeoutSeconds: z.int().min(1).max(MAX_SECONDS).optional().meta({
    description: 'Time for the pods of one node to leave (kubectl drain --timeout); default 60.',
  }),
  force: z.boolean().optional().meta({
    description:
      'Also deletes pods without a controller, which are not created again (kubectl drain --force); default false.',
  }),
  deleteEmptyDirData: z.boolean().optional().meta({
    description:
      'Also evicts pods with an emptyDir volume, whose data is lost (kubectl drain --delete-emptydir-data); default false.',
  }),
});
export type Drain = z.infer<typeof drainSchema>;
