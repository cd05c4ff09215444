/**
 * The controller of controller-runtime's documentation: it counts the pods of each ReplicaSet in a label. It runs against the cluster of
 * `KUBECONFIG`, or with --embedded against an API server of its own with a ReplicaSet and two pods.
 *
 *   npm run example -- operator --embedded
 */
import { EmbeddedApiServer } from '../src/apiserver/index.ts';
import {
  controllerManagedBy,
  ignoreNotFound,
  kinds,
  loadConnection,
  Manager,
  setControllerReference,
  setupSignalHandler,
} from '../src/controller/index.ts';

const server = process.argv.includes('--embedded') ? await EmbeddedApiServer.start() : undefined;
const connection = server
  ? { server: server.url, ca: server.ca, cert: server.admin.cert, key: server.admin.key }
  : await loadConnection();
const manager = new Manager({ connection });
const { client } = manager;

controllerManagedBy(manager)
  .for(kinds.ReplicaSet) // ReplicaSets are reconciled
  .owns(kinds.Pod) // also when one of their pods changes
  .complete(async ({ namespace, name }) => {
    const replicaSet = await client.get(kinds.ReplicaSet, { namespace, name }).catch(ignoreNotFound);
    if (!replicaSet) return;
    const labels = replicaSet.spec?.template?.metadata?.labels ?? {};
    const count = String((await client.list(kinds.Pod, { namespace, labels })).length);
    if (replicaSet.metadata?.labels?.['pod-count'] === count) return;
    const metadata = {
      ...replicaSet.metadata,
      labels: { ...replicaSet.metadata?.labels, 'pod-count': count },
    };
    await client.update(kinds.ReplicaSet, { ...replicaSet, metadata });
    console.log(`ReplicaSet ${namespace}/${name} has ${count} pods`);
  });

const ended = manager.start(setupSignalHandler());
if (server) await demonstrate();
await ended;
await server?.stop();

async function demonstrate(): Promise<void> {
  const labels = { app: 'web' };
  const spec = { containers: [{ name: 'web', image: 'nginx' }] };
  const replicaSet = await client.create(kinds.ReplicaSet, {
    metadata: { namespace: 'default', name: 'web' },
    spec: { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  });
  for (const name of ['web-1', 'web-2']) {
    const pod = { metadata: { namespace: 'default', name, labels }, spec };
    setControllerReference(replicaSet, pod, kinds.ReplicaSet);
    await client.create(kinds.Pod, pod);
  }
}
