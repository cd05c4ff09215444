/**
 * The operator of the usual tutorial, as a whole: a Deployment for each Memcached, status conditions, a finalizer for what lies outside the
 * object, defaults and validation by webhooks. `npm run operator-churn` kills it at random and checks what is left.
 *
 *   npm run example -- memcached --kubeconfig FILE --webhook-port 9443 --webhook-dir DIR
 */
import { parseArgs } from 'node:util';
import {
  addFinalizer,
  type Condition,
  containsFinalizer,
  controllerManagedBy,
  createOrUpdate,
  defineKind,
  ignoreAlreadyExists,
  ignoreNotFound,
  type KubeObject,
  kinds,
  loadConnection,
  Manager,
  mergeFrom,
  type ObjectOf,
  removeFinalizer,
  setControllerReference,
  setStatusCondition,
  setupSignalHandler,
} from '../src/controller/index.ts';
import { pinoLogger } from '../src/controller/logging/index.ts';
import { newWebhookManagedBy } from '../src/controller/webhook/index.ts';

interface Memcached extends KubeObject {
  spec: { size?: number };
  status?: { observedGeneration?: number; readyReplicas?: number; conditions?: Condition[] };
}
const Memcached = defineKind<Memcached>({ group: 'cache.example.com', version: 'v1', kind: 'Memcached' });
const finalizer = 'cache.example.com/ledger';
/** Where each Memcached is listed: it stands for what lies outside the cluster. */
const ledger = 'ledger';

const { values } = parseArgs({
  options: {
    kubeconfig: { type: 'string' },
    'webhook-port': { type: 'string', default: '9443' },
    'webhook-dir': { type: 'string', default: '/tmp/memcached-webhooks' },
  },
});
const manager = new Manager({
  connection: await loadConnection(values.kubeconfig),
  logger: pinoLogger('warn'),
  webhook: {
    port: Number(values['webhook-port']),
    host: '127.0.0.1',
    provision: {
      hosts: ['127.0.0.1'],
      directory: values['webhook-dir'],
      validatingWebhooks: ['memcached'],
      mutatingWebhooks: ['memcached'],
    },
  },
});
const { client } = manager;

newWebhookManagedBy(manager, Memcached)
  .withDefaulter(({ spec }) => {
    spec.size ??= 1;
  })
  .withValidator({
    create: ({ spec }) => {
      checkSize(spec);
    },
    update: (_before, { spec }) => {
      checkSize(spec);
    },
  })
  .complete();

function checkSize({ size = 1 }: Memcached['spec']): void {
  if (size > 9) throw new Error(`spec.size: ${size} is too large: at most 9`);
}

controllerManagedBy(manager)
  .for(Memcached)
  .owns(kinds.Deployment)
  .complete(async ({ namespace, name }) => {
    const found = await client.get(Memcached, { namespace, name }).catch(ignoreNotFound);
    if (!found) return;
    const entry = { namespace: ledger, name: `${namespace}-${name}` };
    if (found.metadata?.deletionTimestamp !== undefined) {
      if (!containsFinalizer(found, finalizer)) return;
      await client.delete(kinds.ConfigMap, entry).catch(ignoreNotFound);
      await client.delete(kinds.Deployment, { namespace, name }).catch(ignoreNotFound);
      const released = structuredClone(found);
      removeFinalizer(released, finalizer);
      await client.patch(Memcached, released, mergeFrom(found)).catch(ignoreNotFound);
      return;
    }
    const owner = structuredClone(found);
    // before the entry is made, so that it is never left behind
    if (addFinalizer(owner, finalizer)) {
      await client.patch(Memcached, owner, mergeFrom(found));
      return; // the change reconciles again
    }
    await client.create(kinds.ConfigMap, { metadata: entry }).catch(ignoreAlreadyExists);
    const identity: ObjectOf<typeof kinds.Deployment> = { metadata: { namespace, name } };
    const { object } = await createOrUpdate(client, kinds.Deployment, identity, (deployment) => {
      const labels = { app: 'memcached', memcached: name };
      // what the API server has set by default stays: otherwise every reconcile would write
      const { template } = deployment.spec ?? {};
      const [container] = template?.spec?.containers ?? [];
      deployment.spec = {
        ...deployment.spec,
        replicas: owner.spec.size ?? 1,
        selector: { matchLabels: labels },
        template: {
          ...template,
          metadata: { ...template?.metadata, labels },
          spec: {
            ...template?.spec,
            containers: [{ ...container, name: 'memcached', image: 'memcached:1.6' }],
          },
        },
      };
      setControllerReference(owner, deployment, Memcached);
    });
    await writeStatus(owner, object.status?.readyReplicas ?? 0);
  });

async function writeStatus(owner: Memcached, readyReplicas: number): Promise<void> {
  const { size = 1 } = owner.spec;
  const ready = readyReplicas >= size;
  const observedGeneration = owner.metadata?.generation ?? 0;
  const conditions = [...(owner.status?.conditions ?? [])];
  const changed = setStatusCondition(conditions, {
    type: 'Available',
    status: ready ? 'True' : 'False',
    observedGeneration,
    reason: ready ? 'Ready' : 'Waiting',
    message: `${readyReplicas} of ${size} are ready`,
  });
  if (!changed) return;
  const next = { ...owner, status: { observedGeneration, readyReplicas, conditions } };
  await client.status.patch(Memcached, next, mergeFrom(owner));
}

await manager.start(setupSignalHandler());
