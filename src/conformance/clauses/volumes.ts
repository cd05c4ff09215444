import { configMapResource, podResource, secretResource, serviceResource } from '../../api/resources.ts';
import type { ContainerStatus, Pod, PodSpec, Service } from '../../kube/types.ts';
import { conditionOf } from '../agent-node.ts';
import { type Clause, expect, needing, type Trial } from '../subject.ts';

const area = 'volumes and environment';

const needs: NonNullable<Clause['needs']> = (world) =>
  world.agent
    ? needing(['commands'])(world)
    : 'agent: the options of an agent around the provider, in real time';

const metadata = (name: string) => ({ name, namespace: 'default' });
const configMap = (name: string, data: Readonly<Record<string, string>>) => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata(name), data },
});
const secret = (name: string, stringData: Readonly<Record<string, string>>) => ({
  ...{ apiVersion: 'v1', kind: 'Secret', metadata: metadata(name), stringData },
});

/** A variable's or a file's text, and what it is to be. */
type Check = readonly [what: string, expected: string];

/** Where processes find their mounts, and containers too. */
const root = '$PODTENDER_ROOT/law';
const file = (path: string): string => `$(cat "${root}/${path}")`;

type Container = PodSpec['containers'][number];

/** A pod that ends with 3 when all checks hold, else with 10 and the number of the first that does not. */
function checking(
  t: Trial,
  checks: readonly Check[],
  spec: Partial<PodSpec>,
  container: Partial<Container>,
): Pod {
  const script = checks
    .map(([what, expected], index) => `[ "${what}" = '${expected}' ] || exit ${10 + index};`)
    .join(' ');
  const containers = [{ ...t.container('main'), ...container }];
  const pod = t.commanding(t.pod({ restartPolicy: 'Never', ...spec, containers }), `${script} exit 3`);
  const annotations = { 'podtender.io/mounts': 'relative', law: 'annotated' };
  return { ...pod, metadata: { ...pod.metadata, annotations, labels: { app: 'web' } } };
}

const mainOf = (pod: Pod | undefined): ContainerStatus | undefined => pod?.status?.containerStatuses?.[0];

async function expectChecks(t: Trial, pod: Pod, checks: readonly Check[]): Promise<void> {
  const agent = await t.agent();
  const created = await agent.createPod(pod);
  const end = async () => mainOf(await agent.pod(created))?.state?.terminated;
  await agent.until(
    async () => (await end()) !== undefined,
    async () => `the pod has not ended: ${JSON.stringify((await agent.pod(created))?.status)}`,
  );
  const { exitCode = -1 } = (await end()) ?? {};
  const [what, expected] = checks[exitCode - 10] ?? [];
  expect(exitCode === 3, () =>
    what === undefined ? `main ended with exit code ${exitCode}` : `${what} is not '${expected ?? ''}'`,
  );
}

export const volumes: readonly Clause[] = [
  {
    name: 'environment-from-objects',
    area,
    rule: 'R184',
    law: 'Variables come from config maps and secrets, whole and by key; later ones win, references are expanded, and missing optional ones are left out.',
    needs,
    async check(t) {
      const agent = await t.agent();
      await agent.create(configMapResource, configMap('settings', { COLOUR: 'blue', SIZE: 'small' }));
      await agent.create(secretResource, secret('password', { TOKEN: 's3cret', SIZE: 'large' }));
      const checks: readonly Check[] = [
        ['$COLOUR', 'blue'],
        ['$SIZE', 'large'],
        ['$PLAIN', 'plain'],
        ['$BY_KEY', 's3cret'],
        ['$BOTH', 'plain and blue'],
        ['${ABSENT-unset}', 'unset'],
      ];
      const pod = checking(
        t,
        checks,
        {},
        {
          envFrom: [{ configMapRef: { name: 'settings' } }, { secretRef: { name: 'password' } }],
          env: [
            { name: 'PLAIN', value: 'plain' },
            { name: 'BY_KEY', valueFrom: { secretKeyRef: { name: 'password', key: 'TOKEN' } } },
            { name: 'BOTH', value: '$(PLAIN) and $(COLOUR)' },
            {
              name: 'ABSENT',
              valueFrom: { configMapKeyRef: { name: 'settings', key: 'none', optional: true } },
            },
          ],
        },
      );
      await expectChecks(t, pod, checks);
    },
  },
  {
    name: 'environment-from-the-pod',
    area,
    rule: 'R185',
    law: 'Variables come from fields of the pod: its name, namespace, labels, node and the limits of its containers.',
    needs,
    async check(t) {
      const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
      const checks: readonly Check[] = [
        ['$NAME', 'web'],
        ['$NAMESPACE', 'default'],
        ['$LABEL', 'web'],
        ['$NODE', 'law'],
        ['$CPU', '250'],
      ];
      const pod = checking(
        t,
        checks,
        {},
        {
          resources: { limits: { cpu: '250m' } },
          env: [
            field('NAME', 'metadata.name'),
            field('NAMESPACE', 'metadata.namespace'),
            field('LABEL', "metadata.labels['app']"),
            field('NODE', 'spec.nodeName'),
            {
              name: 'CPU',
              valueFrom: {
                resourceFieldRef: { containerName: 'main', resource: 'limits.cpu', divisor: '1m' },
              },
            },
          ],
        },
      );
      await expectChecks(t, pod, checks);
    },
  },
  {
    name: 'service-links',
    area,
    rule: 'R184',
    law: 'Variables name the host and port of the services of the namespace, unless enableServiceLinks is false.',
    needs,
    async check(t) {
      const agent = await t.agent();
      const service = await agent.create<Service>(serviceResource, {
        ...{ apiVersion: 'v1', kind: 'Service', metadata: metadata('shop') },
        spec: { ports: [{ port: 8080 }] },
      });
      const linked: readonly Check[] = [
        ['$SHOP_SERVICE_HOST', service.spec?.clusterIP ?? ''],
        ['$SHOP_SERVICE_PORT', '8080'],
      ];
      await expectChecks(t, checking(t, linked, {}, {}), linked);
      const plain: readonly Check[] = [['${SHOP_SERVICE_HOST-unset}', 'unset']];
      const pod = checking(t, plain, { enableServiceLinks: false }, {});
      await expectChecks(t, { ...pod, metadata: { ...pod.metadata, name: 'unlinked' } }, plain);
    },
  },
  {
    name: 'volumes-of-objects',
    area,
    rule: 'R160',
    law: 'Volumes hold the files of config maps, secrets, fields of the pod, and of all these projected into one folder.',
    needs,
    async check(t) {
      const agent = await t.agent();
      await agent.create(configMapResource, configMap('settings', { 'app.conf': 'blue' }));
      await agent.create(secretResource, secret('password', { token: 's3cret' }));
      const fieldItems = [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }];
      const checks: readonly Check[] = [
        [file('config/app.conf'), 'blue'],
        [file('secret/token'), 's3cret'],
        [file('fields/name'), 'web'],
        [file('all/under/app.conf'), 'blue'],
        [file('all/token'), 's3cret'],
        [file('all/name'), 'web'],
      ];
      const volumes = [
        { name: 'config', configMap: { name: 'settings' } },
        { name: 'secret', secret: { secretName: 'password' } },
        { name: 'fields', downwardAPI: { items: fieldItems } },
        {
          name: 'all',
          projected: {
            sources: [
              { configMap: { name: 'settings', items: [{ key: 'app.conf', path: 'under/app.conf' }] } },
              { secret: { name: 'password' } },
              { downwardAPI: { items: fieldItems } },
            ],
          },
        },
      ];
      const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/law/${name}` }));
      await expectChecks(t, checking(t, checks, { volumes }, { volumeMounts }), checks);
    },
  },
  {
    name: 'missing-objects-hold-the-start',
    area,
    rule: 'R181',
    law: 'A container whose config map is missing waits with CreateContainerConfigError, and starts once the config map is there.',
    needs,
    async check(t) {
      const agent = await t.agent();
      const checks: readonly Check[] = [['$COLOUR', 'blue']];
      const pod = await agent.createPod(
        checking(t, checks, {}, { envFrom: [{ configMapRef: { name: 'settings' } }] }),
      );
      const state = async () => mainOf(await agent.pod(pod))?.state ?? {};
      const isHeld = async (): Promise<boolean> =>
        (await state()).waiting?.reason === 'CreateContainerConfigError';
      await agent.until(
        async () => (await isHeld()) || (await state()).terminated !== undefined,
        async () => `main is ${JSON.stringify(await state())}`,
      );
      expect(await isHeld(), () => 'main has started without its config map');
      await agent.create(configMapResource, configMap('settings', { COLOUR: 'blue' }));
      // a change of the pod is its next sync
      const merge = { type: 'merge', body: { metadata: { labels: { touched: '' } } } } as const;
      await agent.client.patch(podResource, { namespace: 'default', name: 'web' }, merge);
      await agent.until(
        async () => (await state()).terminated?.exitCode === 3,
        async () => `main is ${JSON.stringify(await state())}`,
      );
    },
  },
  {
    name: 'node-conditions',
    area: 'node',
    rule: 'R258',
    law: 'The node is Ready while the provider runs pods, and has no pressure of memory, disk or processes.',
    needs: ({ agent }) =>
      agent ? undefined : 'agent: the options of an agent around the provider, in real time',
    async check(t) {
      const agent = await t.agent();
      const node = await agent.node();
      const seen = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'].map(
        (type) => `${type}=${conditionOf(node, type) ?? 'absent'}`,
      );
      const expected = 'Ready=True MemoryPressure=False DiskPressure=False PIDPressure=False';
      expect(seen.join(' ') === expected, () => `its conditions are ${seen.join(' ')}`);
    },
  },
];
