/** The files of a new controller with webhooks. `__KIND__` and the like stand for what the user chooses. */

/** Which webhooks a project has. */
export interface WebhookParts {
  /** Defaults and validation. */
  readonly admission: boolean;
  /** The older version that is converted; absent: there is none. */
  readonly older?: string | undefined;
}

/** Lines that a part adds to a file. */
const when = (condition: boolean, text: string): string => (condition ? text : '');

/** Returns `src/webhooks.ts`. */
export const webhooksTemplate = ({ admission, older }: WebhookParts): string =>
  `import type { Manager } from 'podtender/controller';
import { newWebhookManagedBy } from 'podtender/controller/webhook';
${when(older !== undefined, "import { versions } from './conversion.ts';\n")}import { __KIND__ } from './types.ts';
${when(
  admission,
  `
/** How many pods one __KIND__ may have. */
const maxReplicas = 100;

/** Sets what the user has left out. */
export function setDefaults({ spec }: __KIND__): void {
  spec.replicas ??= 1;
}

/** Refuses an object by an error, whose message the user of the API sees. */
export function validate({ spec }: __KIND__): void {
  if ((spec.replicas ?? 1) > maxReplicas) throw new Error(\`spec.replicas: at most \${maxReplicas} are allowed\`);
}
`,
)}
/** Serves the webhooks of __KIND__ with the manager. */
export function addWebhooks(manager: Manager): void {
  newWebhookManagedBy(manager, __KIND__)
${when(
  admission,
  `    .withDefaulter(setDefaults)
    .withValidator({
      create: validate,
      update: (_before, after) => {
        validate(after);
      },
    })
`,
)}${when(older !== undefined, '    .withConverter(versions)\n')}    .complete();
}
`;

/** `src/conversion.ts`: in the older version `replicas` is called `size`. */
export const conversionTemplate = `import { type HubAndSpokes, spoke } from 'podtender/controller/webhook';
import { __KIND__, __KIND____OLDER_NAME__ } from './types.ts';

/** The versions of __KIND__: __OLDER__ calls \`replicas\` \`size\`. An object that is converted there and back must be as it was. */
export const versions: HubAndSpokes<__KIND__> = {
  hub: __KIND__,
  spokes: [
    spoke<__KIND__, __KIND____OLDER_NAME__>(__KIND____OLDER_NAME__, {
      convertTo: ({ spec: { size, ...spec }, ...rest }) => ({
        ...rest,
        spec: { ...spec, ...(size !== undefined && { replicas: size }) },
      }),
      convertFrom: ({ spec: { replicas, ...spec }, ...rest }) => ({
        ...rest,
        spec: { ...spec, ...(replicas !== undefined && { size: replicas }) },
      }),
    }),
  ],
};
`;

/** What a definition with two versions says of their conversion. */
export const definitionConversion = `  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig:
        service: { namespace: __NAME__-system, name: __NAME__-webhooks, path: /convert }
`;

const webhookOf = (path: string): string => `webhooks:
  - name: __SINGULAR__.__GROUP__
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
    clientConfig:
      service: { namespace: __NAME__-system, name: __NAME__-webhooks, path: /${path}-__GROUP_DASHES__-__VERSION__-__SINGULAR__ }
    rules:
      - apiGroups: [__GROUP__]
        apiVersions: [__VERSION__]
        resources: [__PLURAL__]
        operations: [CREATE, UPDATE]
`;

/** Returns `config/webhooks.yaml`. The manager writes the authority of its certificate into it. */
export const webhookManifests = ({ admission }: WebhookParts): string =>
  `apiVersion: v1
kind: Service
metadata: { name: __NAME__-webhooks, namespace: __NAME__-system }
spec:
  selector: { app: __NAME__ }
  ports: [{ port: 443, targetPort: 9443 }]
${when(
  admission,
  `---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: { name: __NAME__ }
${webhookOf('mutate')}---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: { name: __NAME__ }
${webhookOf('validate')}`,
)}`;

/** Returns the rules that the manager needs for its certificate: of the cluster, and of its namespace. */
export const webhookRules = ({ admission, older }: WebhookParts): string =>
  when(
    admission,
    `  - apiGroups: [admissionregistration.k8s.io]
    resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
    resourceNames: [__NAME__]
    verbs: [get, update]
`,
  ) +
  when(
    older !== undefined,
    `  - apiGroups: [apiextensions.k8s.io]
    resources: [customresourcedefinitions]
    resourceNames: [__PLURAL__.__GROUP__]
    verbs: [get, update]
`,
  );

/** The rule of the Secret with the certificate. */
export const secretRule = `  - { apiGroups: [''], resources: [secrets], verbs: [get, create, update] }
`;

/** Returns the member \`webhook\` of the manager's options. */
export const managerWebhook = ({ admission, older }: WebhookParts): string => `  webhook: {
    provision: {
      service: { namespace: '__NAME__-system', name: '__NAME__-webhooks' },
      secret: { namespace: '__NAME__-system', name: '__NAME__-webhook-certificate' },
${when(admission, "      mutatingWebhooks: ['__NAME__'],\n      validatingWebhooks: ['__NAME__'],\n")}${when(older !== undefined, "      crds: ['__PLURAL__.__GROUP__'],\n")}    },
  },
`;

/** Returns `test/webhooks.test.ts`. */
export const webhooksTest = ({ admission, older }: WebhookParts): string =>
  `import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Manager } from 'podtender/controller';
import { TestEnvironment } from 'podtender/controller/envtest';
import { __KIND__${when(older !== undefined, ', __KIND____OLDER_NAME__')} } from '../src/types.ts';
import { addWebhooks } from '../src/webhooks.ts';

const config = (file: string) => new URL(\`../config/\${file}\`, import.meta.url).pathname;
// webhooks that name a Service are called at the test's own server
const env = new TestEnvironment({ crds: [config('crd.yaml')], webhooks: [config('webhooks.yaml')] });
const stop = new AbortController();
let manager: Manager;
let ended: Promise<void>;

before(async () => {
  const connection = await env.start();
  manager = new Manager({ connection, webhook: env.webhookServer });
  addWebhooks(manager);
  ended = manager.start(stop.signal);
  await manager.elected;
});

after(async () => {
  stop.abort();
  await ended;
  await env.stop();
});

const at = (name: string) => ({ namespace: 'default', name });
${when(
  admission,
  `
test('an object without replicas gets one', async () => {
  const { spec } = await manager.client.create(__KIND__, { metadata: at('small'), spec: { image: 'nginx' } });
  assert.equal(spec.replicas, 1);
});

test('an object with too many replicas is refused', async () => {
  const large = { metadata: at('large'), spec: { image: 'nginx', replicas: 101 } };
  await assert.rejects(manager.client.create(__KIND__, large), /spec.replicas: at most 100 are allowed/);
});
`,
)}${when(
    older !== undefined,
    `
test('an object of __OLDER__ is read as __VERSION__, and the other way round', async () => {
  const { apiReader, client } = manager;
  await client.create(__KIND____OLDER_NAME__, { metadata: at('old'), spec: { image: 'nginx', size: 2 } });
  assert.equal((await apiReader.get(__KIND__, at('old'))).spec.replicas, 2);
  await client.create(__KIND__, { metadata: at('new'), spec: { image: 'nginx', replicas: 3 } });
  assert.equal((await apiReader.get(__KIND____OLDER_NAME__, at('new'))).spec.size, 3);
});
`,
  )}`;
