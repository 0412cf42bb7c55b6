import { z } from 'zod';

/** Components for which kubeadm accepts patches (kubernetes.io, Customizing components with the kubeadm API). */
const PATCHED = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'etcd',
  'corednsdeployment',
] as const;

/** The formats of a patch; each patch has exactly one. */
export const PATCH_TYPES = ['strategic', 'merge', 'json'] as const;

const part = (description: string) =>
  z.record(z.string(), z.unknown()).optional().meta({ description, preserveUnknown: true });

export const patchSchema = z.object({
  target: z.enum(PATCHED).meta({ description: 'Component whose manifest is patched.' }),
  strategic: part('A strategic merge patch.'),
  merge: part('A JSON merge patch (RFC 7386).'),
  json: z
    .array(
      z.object({
        op: z
          .enum(['add', 'remove', 'replace', 'move', 'copy', 'test'])
          .meta({ description: 'Operation of the patch.' }),
        path: z.string().max(512).meta({ description: 'Path, for example /spec/containers/0/command/-.' }),
        from: z.string().max(512).optional().meta({ description: 'Source path of move and copy.' }),
        value: z
          .unknown()
          .optional()
          .meta({ description: 'Value of add, replace and test.', preserveUnknown: true }),
      }),
    )
    .min(1)
    .max(50)
    .optional()
    .meta({ description: 'A JSON patch (RFC 6902).' }),
});
export type Patch = z.infer<typeof patchSchema>;
