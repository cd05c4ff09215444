import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ResourceClient } from '../../../src/api/resource-client.ts';
import { nodeResource, podResource } from '../../../src/api/resources.ts';
import { createApiClient, type HttpApiClient } from '../../../src/api/rest/http-client.ts';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { silentLogger as logger } from '../../../src/base/logger.ts';
import type { KubeObject, Node, Pod } from '../../../src/kube/types.ts';
import { createLoad } from '../../../src/simulate/load.ts';
import { Simulation } from '../../../src/simulate/simulation.ts';
import { defineKinds } from '../../../src/simulate/stages/definitions.ts';
import { objectsOf, objectsOfSources } from '../../../src/simulate/stages/objects.ts';
import { KeyedRandom } from '../../../src/simulate/keyed-random.ts';
import { resourceFinder } from '../../../src/simulate/stages/resource-finder.ts';
import type { PlayedStage } from '../../../src/simulate/stages/player.ts';
import { stageResource, StageWorld } from '../../../src/simulate/stages/stage-world.ts';

let server: EmbeddedApiServer;
let client: HttpApiClient;
let pods: ResourceClient<Pod>;

beforeAll(async () => {
  server = await EmbeddedApiServer.start();
  client = createApiClient(
    { server: server.url, ca: server.ca, ...server.admin },
    { clock: systemClock, logger, qps: 0 },
  );
  pods = new ResourceClient<Pod>(client, podResource, 'default');
  await defineKinds(client);
});

afterAll(async () => {
  await client.close();
  await server.stop();
});

const until = (what: () => unknown): Promise<void> =>
  vi.waitFor(
    async () => {
      expect(await what()).toBeTruthy();
    },
    { timeout: 25_000, interval: 20 },
  );

interface Run {
  readonly simulation: Simulation;
  readonly history: readonly PlayedStage[];
  end(): Promise<void>;
}

async function start(prefix: string, objects: readonly KubeObject[], clock = systemClock): Promise<Run> {
  const history: PlayedStage[] = [];
  const stages = new StageWorld({
    ...{ client, clock, logger, objects, kubeletPort: () => 0, random: new KeyedRandom('7').of('stages') },
    findResource: resourceFinder(client),
    onPlayed: (played) => history.push(played),
  });
  const nodes = [0, 1, 2].map((index) => `${prefix}-${index}`);
  const { isPlayed } = stages;
  const simulation = new Simulation({ client, clock, logger, nodes, seed: '7', isPlayed });
  const stop = new AbortController();
  const running = [simulation.run(stop.signal), stages.run(simulation, stop.signal)];
  await simulation.registered();
  return {
    simulation,
    history,
    end: async () => {
      stop.abort();
      await Promise.all(running);
      await new ResourceClient<Node>(client, nodeResource).delete(`${prefix}-0`);
    },
  };
}

const bound = (name: string, node: string, labels = {}): Pod => ({
  metadata: { name, namespace: 'default', labels },
  spec: { nodeName: node, containers: [{ name: 'app', image: 'x' }] },
});

const ofLabel = (name: string, spec: string): readonly KubeObject[] =>
  objectsOf(
    `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: ${name}}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
${spec.replace(/^/gm, '  ')}`,
    'test',
  );

test('stages play the pods that they select; the kubelet runs the others, and never goes back', async () => {
  const objects = [
    ...ofLabel(
      'fail',
      `selector:
  matchLabels: {doomed: "yes"}
  matchExpressions: [{key: .status.phase, operator: In, values: [Running]}]
next:
  event: {type: Warning, reason: Doomed, message: as planned}
  finalizers: {add: [{value: example.com/kept}]}
  statusTemplate: "phase: Failed\\nreason: {{ .metadata.labels.doomed | upper }}"
immediateNextStage: true`,
    ),
    ...ofLabel(
      'revive',
      `selector:
  matchLabels: {doomed: "yes"}
  matchExpressions: [{key: .status.phase, operator: In, values: [Failed]}]
next: {statusTemplate: "phase: Running"}`,
    ),
  ];
  const run = await start('mixed', objects);
  await pods.create(bound('doomed', 'mixed-0', { doomed: 'yes' }));
  await pods.create(bound('plain', 'mixed-0'));
  await until(async () => (await pods.get('doomed')).status?.phase === 'Failed');
  await until(async () => (await pods.get('plain')).status?.phase === 'Running');
  const doomed = await pods.get('doomed');
  expect(doomed.status?.reason).toBe('YES');
  expect(doomed.metadata?.finalizers).toEqual(['example.com/kept']);
  await until(() => run.history.some(({ stage }) => stage === 'revive'));
  const of = (name: string) => run.history.filter(({ object }) => object === `default/${name}`);
  expect(of('doomed').map(({ stage }) => stage)).toEqual(['pod-ready', 'fail', 'revive']);
  expect(of('plain')).toEqual([]);
  expect((await pods.get('doomed')).status?.phase).toBe('Failed');
  await pods.patch('doomed', { type: 'merge', body: { metadata: { finalizers: null } } });
  await Promise.all(['doomed', 'plain'].map((name) => pods.delete(name)));
  await until(() => run.simulation.counts.pods === 0);
  await run.end();
});

test('Stage objects of the cluster come into force, and a faulty one is reported', async () => {
  const run = await start('served', []);
  const [object] = ofLabel(
    'served',
    `selector: {matchLabels: {served: "yes"}}
next: {statusTemplate: "phase: Succeeded"}`,
  );
  await client.create(stageResource, object ?? {});
  await client.create(stageResource, {
    ...{ apiVersion: 'kwok.x-k8s.io/v1alpha1', kind: 'Stage', metadata: { name: 'faulty' } },
    spec: { resourceRef: { kind: 'Pod' }, next: { statusTemplate: '{{ nope }}' } },
  } as KubeObject);
  // a pod that came before the stage stays with its kubelet
  await until(async () => {
    const { metadata } = await pods.create({
      ...bound('', 'served-1', { served: 'yes' }),
      metadata: { generateName: 'served-', namespace: 'default', labels: { served: 'yes' } },
    });
    await systemClock.sleep(100);
    return (await pods.get(metadata?.name ?? '')).status?.phase === 'Succeeded';
  });
  const { items } = await pods.list({ labelSelector: 'served=yes' });
  for (const { metadata } of items) await pods.delete(metadata?.name ?? '', { gracePeriodSeconds: 0 });
  await run.end();
});

test('a seed replays a run exactly: the same stages with the same delays for each object', async () => {
  const histories: (readonly (readonly [string, readonly (readonly [string, number])[]])[])[] = [];
  for (const _round of [1, 2]) {
    const clock = new FakeClock(1_800_000_000_000);
    const run = await start('replay', objectsOfSources(['general']), clock);
    const nodes = ['replay-0', 'replay-1', 'replay-2'];
    const load = { client, clock, logger, nodes, podsPerNode: 3, namespace: 'default', image: 'x' };
    await createLoad(load, new AbortController().signal);
    await until(async () => {
      await clock.advance(500);
      return run.simulation.counts.podsReady === 9;
    });
    const { items } = await pods.list();
    for (const { metadata } of items) await pods.delete(metadata?.name ?? '');
    await until(async () => {
      await clock.advance(500);
      return run.simulation.counts.pods === 0;
    });
    const byObject = Object.groupBy(run.history, ({ object }) => object);
    histories.push(
      Object.entries(byObject)
        .sort()
        .map(
          ([object, played = []]) =>
            [object, played.map(({ stage, delayMs }) => [stage, delayMs] as const)] as const,
        ),
    );
    await run.end();
  }
  expect(histories[1]).toEqual(histories[0]);
  expect(histories[0]).toHaveLength(9);
  const delays = new Set(histories[0]?.flatMap(([, played]) => played.map(([, delayMs]) => delayMs)));
  expect(delays.size).toBeGreaterThan(20);
});

test('stages play objects of any kind, and create others', async () => {
  const run = await start(
    'kinds',
    objectsOf(
      `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: provision}
spec:
  resourceRef: {apiGroup: v1, kind: PersistentVolumeClaim}
  selector:
    matchExpressions:
      - cel: {expression: 'self.spec.storageClassName == "played"'}
      - cel: {expression: '!has(self.spec.volumeName)'}
  steps:
    - event: {type: Normal, reason: Provisioning, message: as planned}
    - apply:
        template: |
          apiVersion: v1
          kind: PersistentVolume
          metadata: {name: pv-{{ .metadata.name }}}
          spec:
            accessModes: [ReadWriteOnce]
            capacity: {storage: {{ .spec.resources.requests.storage }}}
            hostPath: {path: /tmp/none}
            claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, name: {{ .metadata.name }}, namespace: {{ .metadata.namespace }}}
    - patch: {root: spec, template: 'volumeName: pv-{{ .metadata.name }}'}
    - patch: {root: status, type: json, subresource: status, template: '[{op: add, path: /phase, value: Bound}]'}
`,
      'test',
    ),
  );
  const claims = {
    group: '',
    version: 'v1',
    resource: 'persistentvolumeclaims',
    kind: 'PersistentVolumeClaim',
    namespaced: true,
  };
  const claim = await client.create<KubeObject>(claims, {
    ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'data', namespace: 'default' } },
    spec: {
      ...{ storageClassName: 'played', accessModes: ['ReadWriteOnce'] },
      resources: { requests: { storage: '1Gi' } },
    },
  } as KubeObject);
  const ref = { name: 'data', namespace: 'default' };
  await until(async () => {
    const { spec, status } = await client.get<Claim>(claims, ref);
    return spec?.volumeName === 'pv-data' && status?.phase === 'Bound';
  });
  const volumes = { ...claims, resource: 'persistentvolumes', kind: 'PersistentVolume', namespaced: false };
  const volume = await client.get<Claim>(volumes, { name: 'pv-data' });
  expect(volume.spec?.capacity).toEqual({ storage: '1Gi' });
  expect(run.history.map(({ object, stage }) => [object, stage])).toEqual([['default/data', 'provision']]);
  expect(claim.metadata?.name).toBe('data');
  await run.end();
});

interface Claim extends KubeObject {
  readonly spec?: { readonly volumeName?: string; readonly capacity?: object };
  readonly status?: { readonly phase?: string };
}
