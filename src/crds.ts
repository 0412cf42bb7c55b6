import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { hostCrd, kubernetesClusterCrd } from '#api/crd.ts';

/** Text of each file under crds/ and deploy/chart/crds/, generated from src/api. `node src/crds.ts` writes them. */
export const crdFiles: Readonly<Record<string, string>> = {
  'hosts.ecs.yun.com.yaml': stringify(hostCrd(), { lineWidth: 0 }),
  'kubernetesclusters.ecs.yun.com.yaml': stringify(kubernetesClusterCrd(), { lineWidth: 0 }),
};

if (import.meta.main) {
  for (const folder of ['crds', 'deploy/chart/crds'])
    for (const [name, text] of Object.entries(crdFiles))
      writeFileSync(new URL(`../${folder}/${name}`, import.meta.url), text);
}
