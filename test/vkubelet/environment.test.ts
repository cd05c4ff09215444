import { expect, test } from 'vitest';
import type { ConfigMap, Container, Pod, Secret, Service } from '../../src/kube/types.ts';
import { resolveEnvironment } from '../../src/vkubelet/environment.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const configMaps: Readonly<Record<string, ConfigMap>> = {
  plain: { metadata: { name: 'plain', namespace: 'ns' }, data: { A: 'one', 'not a name!': 'x' } },
};
const secrets: Readonly<Record<string, Secret>> = {
  hidden: { metadata: { name: 'hidden', namespace: 'ns' }, data: { B: base64('two') } },
};
const services: readonly Service[] = [
  {
    metadata: { name: 'db', namespace: 'ns' },
    spec: { clusterIP: '10.0.0.5', ports: [{ port: 5432, protocol: 'TCP' }] },
  },
];

async function resolve(container: Partial<Container>, broken = false) {
  const events: string[] = [];
  const read = async <T>(object: T): Promise<T> => {
    if (broken) throw new Error('the API server is away');
    return object;
  };
  const pod: Pod = {
    metadata: { name: 'web', namespace: 'ns', uid: 'u', labels: { tier: 'front' } },
    spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i', ...container }] },
  };
  const deps = {
    configMap: (_namespace: string, name: string) => read(configMaps[name]),
    secret: (_namespace: string, name: string) => read(secrets[name]),
    services: () => services,
    recorder: {
      event: (_object: unknown, type: string, reason: string, message: string) =>
        void events.push(`${type} ${reason} ${message}`),
    },
    nodeAllocatable: () => ({ cpu: '4', memory: '1Gi' }),
    hostIps: () => ['192.0.2.1'],
  };
  const outcome = await resolveEnvironment(pod, deps).then(
    (resolved) => {
      const [made] = resolved.spec?.containers ?? [];
      expect(made?.envFrom).toEqual([]);
      return Object.fromEntries((made?.env ?? []).map(({ name, value }) => [name, value]));
    },
    (reason: unknown) => (reason as Error).message,
  );
  return { outcome, events };
}

test('everything that may stand behind a variable is resolved as the kubelet does', async () => {
  const { outcome } = await resolve({
    envFrom: [{ prefix: 'P_', configMapRef: { name: 'plain' } }, { secretRef: { name: 'hidden' } }],
    env: [
      { name: 'PLAIN', value: 'x' },
      { name: 'JOINED', value: '$(PLAIN)-$(P_A)-$$(NOT)-$(MISSING)' },
      { name: 'FROM_MAP', valueFrom: { configMapKeyRef: { name: 'plain', key: 'A' } } },
      { name: 'FROM_SECRET', valueFrom: { secretKeyRef: { name: 'hidden', key: 'B' } } },
      { name: 'FIELD', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: "metadata.labels['tier']" } } },
      { name: 'NODE', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'spec.nodeName' } } },
      { name: 'HOST', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.hostIP' } } },
      { name: 'CPUS', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
      { name: 'EMPTY', value: '' },
    ],
  });
  expect(outcome).toMatchObject({
    P_A: 'one',
    B: 'two',
    PLAIN: 'x',
    JOINED: 'x-one-$(NOT)-$(MISSING)',
    FROM_MAP: 'one',
    FROM_SECRET: 'two',
    FIELD: 'front',
    NODE: 'n',
    HOST: '192.0.2.1',
    CPUS: '4',
    EMPTY: '',
    DB_SERVICE_HOST: '10.0.0.5',
    DB_PORT_5432_TCP_ADDR: '10.0.0.5',
  });
});

const key = (name: string, at: string, optional?: boolean) => ({
  name,
  key: at,
  ...(optional !== undefined && { optional }),
});

/** All thirteen reasons, and whether the pod may run. */
const cases: readonly {
  readonly reason: string;
  readonly container: Partial<Container>;
  readonly fails?: string;
  readonly broken?: true;
}[] = [
  {
    reason: 'OptionalConfigMapNotFound',
    container: { envFrom: [{ configMapRef: { name: 'none', optional: true } }] },
  },
  {
    reason: 'OptionalConfigMapKeyNotFound',
    container: { env: [{ name: 'X', valueFrom: { configMapKeyRef: key('plain', 'Z', true) } }] },
  },
  {
    reason: 'FailedToReadOptionalConfigMap',
    container: { env: [{ name: 'X', valueFrom: { configMapKeyRef: key('plain', 'A', true) } }] },
    broken: true,
  },
  {
    reason: 'OptionalSecretNotFound',
    container: { env: [{ name: 'X', valueFrom: { secretKeyRef: key('none', 'A', true) } }] },
  },
  {
    reason: 'OptionalSecretKeyNotFound',
    container: { env: [{ name: 'X', valueFrom: { secretKeyRef: key('hidden', 'Z', true) } }] },
  },
  {
    reason: 'FailedToReadOptionalSecret',
    container: { envFrom: [{ secretRef: { name: 'hidden', optional: true } }] },
    broken: true,
  },
  {
    reason: 'MandatoryConfigMapNotFound',
    container: { envFrom: [{ configMapRef: { name: 'none' } }] },
    fails: 'configmap "none" not found',
  },
  {
    reason: 'MandatoryConfigMapKeyNotFound',
    container: { env: [{ name: 'X', valueFrom: { configMapKeyRef: key('plain', 'Z') } }] },
    fails: 'key "Z" does not exist in configmap "plain"',
  },
  {
    reason: 'FailedToReadMandatoryConfigMap',
    container: { envFrom: [{ configMapRef: { name: 'plain' } }] },
    fails: 'failed to read configmap "plain": the API server is away',
    broken: true,
  },
  {
    reason: 'MandatorySecretNotFound',
    container: { env: [{ name: 'X', valueFrom: { secretKeyRef: key('none', 'A') } }] },
    fails: 'secret "none" not found',
  },
  {
    reason: 'MandatorySecretKeyNotFound',
    container: { env: [{ name: 'X', valueFrom: { secretKeyRef: key('hidden', 'Z') } }] },
    fails: 'key "Z" does not exist in secret "hidden"',
  },
  {
    reason: 'FailedToReadMandatorySecret',
    container: { envFrom: [{ secretRef: { name: 'hidden' } }] },
    fails: 'failed to read secret "hidden": the API server is away',
    broken: true,
  },
  {
    reason: 'InvalidEnvironmentVariableNames',
    container: { envFrom: [{ configMapRef: { name: 'plain' } }] },
  },
];

test.for(cases)('$reason', async ({ reason, container, fails, broken }) => {
  const { outcome, events } = await resolve(container, broken);
  expect(events).toHaveLength(1);
  expect(events[0]).toMatch(new RegExp(`^Warning ${reason} `));
  if (fails === undefined) expect(outcome).not.toHaveProperty('X');
  else expect(outcome).toBe(fails);
});

test('each of the thirteen reasons has a case', async () => {
  const reasons = await import('../../src/vkubelet/reasons.ts');
  expect(cases.map(({ reason }) => reason).sort()).toEqual(Object.values(reasons).sort());
});
