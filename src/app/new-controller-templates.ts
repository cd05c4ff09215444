import {
  definitionConversion,
  managerWebhook,
  secretRule,
  type WebhookParts,
  webhookRules,
} from './new-controller-webhooks.ts';

/** The files of a new controller. `__KIND__` and the like stand for what the user chooses. */
/** Returns one version of the definition. */
const definitionVersion = (
  version: string,
  { stored, replicas }: { stored: boolean; replicas: string },
): string =>
  `    - name: ${version}
      served: true
      storage: ${stored}
      subresources: { status: {} }
      additionalPrinterColumns:
        - { name: Replicas, type: integer, jsonPath: .spec.${replicas} }
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
                ${replicas}: { type: integer, format: int32, minimum: 0, default: 1, description: How many pods run. }
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

/** Returns the definition. @param older a version in which `replicas` is called `size` */
export const definitionOf = (older: string | undefined): string =>
  `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: __PLURAL__.__GROUP__
spec:
  group: __GROUP__
  scope: Namespaced
  names: { kind: __KIND__, listKind: __KIND__List, plural: __PLURAL__, singular: __SINGULAR__ }
${older === undefined ? '' : definitionConversion}  versions:
${definitionVersion('__VERSION__', { stored: true, replicas: 'replicas' })}${older === undefined ? '' : definitionVersion(older, { stored: false, replicas: 'size' })}`;

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
  setStatusCondition,
} from 'podtender/controller';
import { __KIND__, type __KIND__Status } from './types.ts';

type Deployment = ObjectOf<typeof kinds.Deployment>;

/** Makes the Deployment of each __KIND__ what its spec says, and its status what the Deployment says. */
export class __KIND__Reconciler implements Reconciler {
  readonly #client: Client;
  readonly #now: () => number;

  constructor(client: Client, now: () => number = Date.now) {
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
      // what the API server has set by default stays: otherwise every reconcile would write
      const { template } = deployment.spec ?? {};
      const [container] = template?.spec?.containers ?? [];
      deployment.spec = {
        ...deployment.spec,
        replicas: owner.spec.replicas ?? 1,
        selector: { matchLabels: labels },
        template: {
          ...template,
          metadata: { ...template?.metadata, labels },
          spec: { ...template?.spec, containers: [{ ...container, name: 'main', image: owner.spec.image }] },
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
    const observedGeneration = owner.metadata?.generation ?? 0;
    const conditions = [...(owner.status?.conditions ?? [])];
    const condition = {
      type: 'Available',
      status: ready ? ('True' as const) : ('False' as const),
      observedGeneration,
      reason: ready ? 'PodsReady' : 'PodsNotReady',
      message: \`\${readyReplicas} of \${owner.spec.replicas ?? 1} pods are ready\`,
    };
    if (!setStatusCondition(conditions, condition, this.#now())) return;
    const next: __KIND__Status = { observedGeneration, readyReplicas, conditions };
    await this.#client.status.patch(__KIND__, { ...owner, status: next }, mergeFrom(owner));
  }
}
`;

/** Returns `src/main.ts`. @param webhooks those that the manager serves, if any */
export const mainOf = (webhooks: WebhookParts | undefined): string => `import {
  controllerManagedBy,
  kinds,
  loadConnection,
  Manager,
  setupSignalHandler,
} from 'podtender/controller';
import { pinoLogger } from 'podtender/controller/logging';
import { __KIND__Reconciler } from './reconciler.ts';
import { __KIND__ } from './types.ts';
${webhooks ? "import { addWebhooks } from './webhooks.ts';\n" : ''}
const manager = new Manager({
  connection: await loadConnection(),
  logger: pinoLogger('info'),
  leaderElection: { id: '__NAME__.__GROUP__' },
  metrics: { bindAddress: ':8080' },
  healthProbeBindAddress: ':8081',
${webhooks ? managerWebhook(webhooks) : ''}});
manager.addHealthzCheck('ping', () => undefined);
manager.addReadyzCheck('ping', () => undefined);
${webhooks ? "addWebhooks(manager);\nmanager.addReadyzCheck('webhooks', manager.webhookServer.startedChecker());\n" : ''}
controllerManagedBy(manager)
  .for(__KIND__)
  .owns(kinds.Deployment)
  .complete(new __KIND__Reconciler(manager.client));

await manager.start(setupSignalHandler());
`;

export const testTemplate = `import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Controller, controllerManagedBy, kinds, Manager } from 'podtender/controller';
import { AuditLog, ControllerDriver } from 'podtender/controller/controllertest';
import { TestEnvironment } from 'podtender/controller/envtest';
import { __KIND__Reconciler } from '../src/reconciler.ts';
import { __KIND__ } from '../src/types.ts';

const env = new TestEnvironment({ crds: [new URL('../config/crd.yaml', import.meta.url).pathname] });
const key = { namespace: 'default', name: 'web' };
let manager: Manager;
let controller: Controller;
let driver: ControllerDriver;

before(async () => {
  manager = new Manager({ connection: await env.start() });
  controller = controllerManagedBy(manager)
    .for(__KIND__)
    .owns(kinds.Deployment)
    .complete(new __KIND__Reconciler(manager.client));
  // it reconciles when a test says run()
  driver = new ControllerDriver(manager, controller);
  await driver.start();
});

after(async () => {
  await driver.stop();
  await env.stop();
});

test('a __KIND__ gets a Deployment, and its status says how many pods are ready', async () => {
  const { apiReader, client } = manager;
  await client.create(__KIND__, { metadata: key, spec: { image: 'nginx', replicas: 2 } });
  await driver.run();
  const deployment = await apiReader.get(kinds.Deployment, key);
  assert.equal(deployment.spec?.replicas, 2);
  assert.equal(deployment.metadata?.ownerReferences?.[0]?.kind, '__KIND__');
  const waiting = await apiReader.get(__KIND__, key);
  assert.equal(waiting.status?.conditions?.[0]?.status, 'False');

  // no controller runs Deployments in the test environment: the test says that the pods are ready
  const status = { replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 };
  await client.status.update(kinds.Deployment, { ...deployment, status });
  await driver.run();
  const ready = await apiReader.get(__KIND__, key);
  assert.equal(ready.status?.conditions?.[0]?.status, 'True');
  assert.equal(ready.status?.readyReplicas, 2);
});

test('a change of the spec is brought to the Deployment', async () => {
  const { apiReader, client } = manager;
  const now = await apiReader.get(__KIND__, key);
  await client.update(__KIND__, { ...now, spec: { ...now.spec, replicas: 3 } });
  await driver.run();
  assert.equal((await apiReader.get(kinds.Deployment, key)).spec?.replicas, 3);
});

test('a reconcile writes nothing when all is as it should be', async () => {
  await driver.run();
  const log = new AuditLog(env);
  await controller.reconcile(key, new AbortController().signal);
  log.assertNoWrites();
});
`;

/** Returns `config/deploy.yaml`. @param webhooks those that the manager serves, if any */
export const deploymentOf = (webhooks: WebhookParts | undefined): string => `apiVersion: v1
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
${webhooks ? webhookRules(webhooks) : ''}---
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
${webhooks ? secretRule : ''}---
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
${webhooks ? '            - { name: webhooks, containerPort: 9443 }\n' : ''}          livenessProbe: { httpGet: { path: /healthz, port: health } }
          readinessProbe: { httpGet: { path: /readyz, port: health } }
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: [ALL] } }
`;

/** Returns `README.md`. */
export const readmeOf = (webhooks: boolean): string => `# __NAME__

A controller of __KIND__ (__GROUP__/__VERSION__), made by \`podtender new-controller\`.

- \`npm install\`, then \`npm test\` runs it against an API server in the test's own process, and \`npm run check\` checks the types.
- \`kubectl apply -f config/crd.yaml\`, then \`npm start\` runs it against the cluster of \`KUBECONFIG\`.
- After a change of \`config/crd.yaml\`, \`npm run generate\` writes \`src/types.ts\` again.
${webhooks ? '- `config/webhooks.yaml` has the webhooks and their Service; the manager makes the certificate, and writes its authority there.\n' : ''}- \`docker build -t __NAME__ .\` and \`kubectl apply -f config/crd.yaml -f config/deploy.yaml${webhooks ? ' -f config/webhooks.yaml' : ''}\` run it in the cluster.
`;
