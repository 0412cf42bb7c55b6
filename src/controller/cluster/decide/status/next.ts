import type { OperationStatus, RequestRecord } from '#api/kubernetes-cluster.ts';
import type { Phase } from '#api/operation-values.ts';

/** Phase and operation after an outcome; conditions follow from these. */
export interface Next {
  phase: Phase;
  operation: OperationStatus | undefined;
  requests: RequestRecord[];
  reason: string;
  message: string;
}
