/** The files of a new controller. `__KIND__` and the like stand for what the user chooses. */
export const definitionTemplate = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: __PLURAL__.__GROUP__
spec:
  group: __GROUP__
  scope: Namespaced
  names: { kind: __KIND__, listKind: __KIND__List, plural: __PLURAL__, singular: __SINGULAR__ }
  versions:
    - name: __VERSION__
      served: true
      storage: true
      subresources: { status: {} }
      additionalPrinterColumns:
        - { name: Replicas, type: integer, jsonPath: .spec.replicas }
        - { name: Ready, type: integer, jsonPath: .status.readyReplicas }
      schema:
        openAPIV3Schema:
          description: __KIND__ runs an image in a Deployment of its name.
          type: object
          required: [spec]
          properties:
            apiVersion: { type: string }
            kind: { type: string }
            metadata: { type: object }
            spec:
              type: object
              required: [image]
              properties:
                image: { type: string, minLength: 1, description: The image to run. }
                replicas: { type: integer, format: int32, minimum: 0, default: 1, description: How many pods run. }
            status:
              type: object
              properties:
                observedGeneration: { type: integer, format: int64 }
                readyReplicas: { type: integer, format: int32, description: How many pods are ready. }
                conditions:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [type]
                  items:
                    type: object
                    required: [type, status, lastTransitionTime, reason, message]
                    properties:
                      type: { type: string }
                      status: { type: string, enum: ['True', 'False', Unknown] }
                      observedGeneration: { type: integer, format: int64 }
                      lastTransitionTime: { type: string, format: date-time }
                      reason: { type: string, minLength: 1 }
                      message: { type: string }
`;

export const reconcilerTemplate = `import {
  type Client,
  createOrUpdate,
  ignoreNotFound,
  kinds,
  mergeFrom,
  type ObjectOf,
  type ReconcileContext,
  type Reconciler,
  type Request,
  setControllerReference,
} from 'podtender/controller';
import { __KIND__, type __KIND__Status, type __KIND__StatusConditionsItem } from './types.ts';

type Deployment = ObjectOf<typeof kinds.Deployment>;

/** Makes the Deployment of each __KIND__ what its spec says, and its status what the Deployment says. */
export class __KIND__Reconciler implements Reconciler {
  readonly #client: Client;
  readonly #now: () => Date;

  constructor(client: Client, now: () => Date = () => new Date()) {
    this.#client = client;
    this.#now = now;
  }

  async reconcile({ namespace, name }: Request, { logger }: ReconcileContext): Promise<void> {
    const owner = await this.#client.get(__KIND__, { namespace, name }).catch(ignoreNotFound);
    // what it owns is deleted by the garbage collector
    if (!owner || owner.metadata?.deletionTimestamp !== undefined) return;
    const wanted: Deployment = { metadata: { namespace, name } };
    const { result, object } = await createOrUpdate(this.#client, kinds.Deployment, wanted, (deployment) => {
      const labels = { app: name };
      deployment.spec = {
        ...deployment.spec,
        replicas: owner.spec.replicas ?? 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: 'main', image: owner.spec.image }] },
        },
      };
      setControllerReference(owner, deployment, __KIND__);
    });
    if (result !== 'unchanged') logger.info('deployment', { result });
    await this.#updateStatus(owner, object);
  }

  async #updateStatus(owner: __KIND__, { status }: Deployment): Promise<void> {
    const readyReplicas = status?.readyReplicas ?? 0;
    const ready = readyReplicas >= (owner.spec.replicas ?? 1);
    const condition = {
      type: 'Available',
      status: ready ? ('True' as const) : ('False' as const),
      reason: ready ? 'PodsReady' : 'PodsNotReady',
      message: \`\${readyReplicas} of \${owner.spec.replicas ?? 1} pods are ready\`,
    };
    const generation = owner.metadata?.generation ?? 0;
    const before = owner.status?.conditions?.find(({ type }) => type === condition.type);
    const next: __KIND__Status = {
      observedGeneration: generation,
      readyReplicas,
      conditions: [this.#stamped(condition, before)],
    };
    if (JSON.stringify(next) === JSON.stringify(owner.status)) return;
    await this.#client.status.patch(__KIND__, { ...owner, status: next }, mergeFrom(owner));
  }

  /** The time of a condition changes with its status only. */
  #stamped(
    { type, status, reason, message }: Omit<__KIND__StatusConditionsItem, 'lastTransitionTime'>,
    before: __KIND__StatusConditionsItem | undefined,
  ): __KIND__StatusConditionsItem {
    const same = before?.status === status;
    const lastTransitionTime = same ? before.lastTransitionTime : \`\${this.#now().toISOString().slice(0, 19)}Z\`;
    return { lastTransitionTime, message, reason, status, type };
  }
}
`;

export const mainTemplate = `import {
  controllerManagedBy,
  kinds,
  loadConnection,
  Manager,
  setupSignalHandler,
} from 'podtender/controller';
import { __KIND__Reconciler } from './reconciler.ts';
import { __KIND__ } from './types.ts';

const manager = new Manager({
  connection: await loadConnection(),
  leaderElection: { id: '__NAME__.__GROUP__' },
  metrics: { bindAddress: ':8080' },
  healthProbeBindAddress: ':8081',
});
manager.addHealthzCheck('ping', () => undefined);
manager.addReadyzCheck('ping', () => undefined);

controllerManagedBy(manager)
  .for(__KIND__)
  .owns(kinds.Deployment)
  .complete(new __KIND__Reconciler(manager.client));

await manager.start(setupSignalHandler());
`;

export const testTemplate = `import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { controllerManagedBy, kinds, Manager } from 'podtender/controller';
import { TestEnvironment } from 'podtender/controller/envtest';
import { __KIND__Reconciler } from '../src/reconciler.ts';
import { __KIND__ } from '../src/types.ts';

const env = new TestEnvironment({ crds: [new URL('../config/crd.yaml', import.meta.url).pathname] });
const stop = new AbortController();
const key = { namespace: 'default', name: 'web' };
let manager: Manager;
let ended: Promise<void>;

before(async () => {
  manager = new Manager({ connection: await env.start() });
  controllerManagedBy(manager)
    .for(__KIND__)
    .owns(kinds.Deployment)
    .complete(new __KIND__Reconciler(manager.client));
  ended = manager.start(stop.signal);
});

after(async () => {
  stop.abort();
  await ended;
  await env.stop();
});

/** Reads until it is wanted, at most 10 s. */
async function eventually<T>(read: () => Promise<T>, wanted: (value: T) => boolean): Promise<T> {
  for (let left = 500; ; left--) {
    const value = await read().catch((error: unknown) => {
      if (left === 0) throw error;
      return undefined;
    });
    if (value !== undefined && wanted(value)) return value;
    assert.ok(left > 0, \`still \${JSON.stringify(value)} after 10 s\`);
    await sleep(20);
  }
}

test('a __KIND__ gets a Deployment, and its status says how many pods are ready', async () => {
  const { apiReader, client } = manager;
  await client.create(__KIND__, { metadata: key, spec: { image: 'nginx', replicas: 2 } });
  const deployment = await eventually(
    () => apiReader.get(kinds.Deployment, key),
    ({ spec }) => spec?.replicas === 2,
  );
  assert.equal(deployment.metadata?.ownerReferences?.[0]?.kind, '__KIND__');
  const condition = (status: string) => (object: __KIND__) => object.status?.conditions?.[0]?.status === status;
  await eventually(() => apiReader.get(__KIND__, key), condition('False'));

  // no controller runs Deployments in the test environment: the test says that the pods are ready
  const status = { replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 };
  const now = await apiReader.get(kinds.Deployment, key);
  await client.status.update(kinds.Deployment, { ...now, status });
  const ready = await eventually(() => apiReader.get(__KIND__, key), condition('True'));
  assert.equal(ready.status?.readyReplicas, 2);
});

test('a change of the spec is brought to the Deployment', async () => {
  const { apiReader, client } = manager;
  const now = await apiReader.get(__KIND__, key);
  await client.update(__KIND__, { ...now, spec: { ...now.spec, replicas: 3 } });
  await eventually(
    () => apiReader.get(kinds.Deployment, key),
    ({ spec }) => spec?.replicas === 3,
  );
});
`;

export const deploymentTemplate = `apiVersion: v1
kind: Namespace
metadata: { name: __NAME__-system }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: __NAME__, namespace: __NAME__-system }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: __NAME__ }
rules:
  - { apiGroups: [__GROUP__], resources: [__PLURAL__], verbs: [get, list, watch, update, patch] }
  - { apiGroups: [__GROUP__], resources: [__PLURAL__/status], verbs: [get, update, patch] }
  - { apiGroups: [__GROUP__], resources: [__PLURAL__/finalizers], verbs: [update] }
  - { apiGroups: [apps], resources: [deployments], verbs: [get, list, watch, create, update, patch, delete] }
  - { apiGroups: [''], resources: [events], verbs: [create, patch] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: __NAME__ }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: __NAME__ }
subjects: [{ kind: ServiceAccount, name: __NAME__, namespace: __NAME__-system }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: __NAME__-leader-election, namespace: __NAME__-system }
rules:
  - { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update, patch] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: __NAME__-leader-election, namespace: __NAME__-system }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: __NAME__-leader-election }
subjects: [{ kind: ServiceAccount, name: __NAME__, namespace: __NAME__-system }]
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: __NAME__, namespace: __NAME__-system }
spec:
  replicas: 1
  selector: { matchLabels: { app: __NAME__ } }
  template:
    metadata: { labels: { app: __NAME__ } }
    spec:
      serviceAccountName: __NAME__
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: RuntimeDefault } }
      containers:
        - name: manager
          image: __NAME__:latest
          ports:
            - { name: metrics, containerPort: 8080 }
            - { name: health, containerPort: 8081 }
          livenessProbe: { httpGet: { path: /healthz, port: health } }
          readinessProbe: { httpGet: { path: /readyz, port: health } }
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: [ALL] } }
`;

export const readmeTemplate = `# __NAME__

A controller of __KIND__ (__GROUP__/__VERSION__), made by \`podtender new-controller\`.

- \`npm install\`, then \`npm test\` runs it against an API server in the test's own process, and \`npm run check\` checks the types.
- \`kubectl apply -f config/crd.yaml\`, then \`npm start\` runs it against the cluster of \`KUBECONFIG\`.
- After a change of \`config/crd.yaml\`, \`npm run generate\` writes \`src/types.ts\` again.
- \`docker build -t __NAME__ .\` and \`kubectl apply -f config/crd.yaml -f config/deploy.yaml\` run it in the cluster.
`;
