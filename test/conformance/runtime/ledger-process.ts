import { createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { runLedger } from './ledger.ts';

/** The ledger's writer as a separate process that a test can stop: `node ledger-process.ts <kubeconfig> <namespace>`. */
const [kubeconfig, namespace = ''] = process.argv.slice(2);
const client = createClient(await loadEndpoint({ kubeconfig }), { userAgent: 'former' });
await runLedger(client, { namespace, identity: 'former', signal: new AbortController().signal });
