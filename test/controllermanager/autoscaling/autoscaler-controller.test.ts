import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { defineKind, kinds } from '../../../src/controller/kinds.ts';
import type { Client, KubeObject } from '../../../src/controller/types.ts';
import type { Autoscaler } from '../../../src/controllermanager/autoscaling/autoscaler-types.ts';
import { cluster, deployment, endAll, eventually, podsOf, running, template } from '../support.ts';

afterEach(endAll);

const autoscaler = (spec: Partial<NonNullable<Autoscaler['spec']>> = {}): Autoscaler => ({
  metadata: { namespace: 'default', name: 'web' },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
    minReplicas: 2,
    maxReplicas: 5,
    metrics: [
      {
        type: 'Resource',
        resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
      },
    ],
    ...spec,
  },
});
const get = (client: Client) =>
  client.get(kinds.HorizontalPodAutoscaler, { namespace: 'default', name: 'web' });
const conditionsOf = ({ status }: Autoscaler): Record<string, string> =>
  Object.fromEntries(
    (status?.conditions ?? []).map(({ type, status: is, reason }) => [type, `${is} ${reason ?? ''}`]),
  );
const sized = (client: Client, replicas: number) =>
  eventually(
    () => client.get(kinds.Deployment, { namespace: 'default', name: 'web' }),
    ({ status }) => status?.readyReplicas === replicas,
  );
const web = template('web', 'image:1', {
  containers: [{ name: 'main', image: 'i', resources: { requests: { cpu: '100m' } } }],
});

interface PodMetrics extends KubeObject {
  timestamp: string;
  window: string;
  containers: { name: string; usage: Record<string, string> }[];
}
const podMetrics = defineKind<PodMetrics>({
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  kind: 'PodMetrics',
  resource: 'pods',
});

/** Serves metrics.k8s.io as a custom resource. */
async function serveMetrics(client: Client): Promise<void> {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  await client.create(kinds.CustomResourceDefinition, {
    metadata: {
      name: 'pods.metrics.k8s.io',
      annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' },
    },
    spec: {
      group: 'metrics.k8s.io',
      scope: 'Namespaced',
      names: { plural: 'pods', kind: 'PodMetrics' },
      versions: [{ name: 'v1beta1', served: true, storage: true, schema }],
    },
  });
}

test('load scales a Deployment up to what the metric calls for', async () => {
  const world = await cluster();
  const { client } = world;
  // their start has passed
  const start = new Date(systemClock.now() - 600_000).toISOString().replace(/\.\d+Z/, 'Z');
  world.behaviour = {
    start: () => ({
      ...running(),
      startTime: start,
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: start }],
    }),
  };
  await serveMetrics(client);
  await client.create(kinds.Deployment, deployment('web', { replicas: 2, template: web }));
  await sized(client, 2);
  for (const { metadata } of await podsOf(client, 'web'))
    await client.create(podMetrics, {
      metadata: { namespace: 'default', name: metadata?.name ?? '', labels: { app: 'web' } },
      timestamp: new Date(systemClock.now()).toISOString(),
      window: '15s',
      containers: [{ name: 'main', usage: { cpu: '99m' } }],
    });
  await client.create(kinds.HorizontalPodAutoscaler, autoscaler());
  await sized(client, 4);
  const scaled = await eventually(
    () => get(client),
    ({ status }) => status?.desiredReplicas === 4,
  );
  expect(scaled.status?.currentMetrics).toEqual([
    { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 99, averageValue: '99m' } } },
  ]);
  expect(conditionsOf(scaled)).toEqual({
    AbleToScale: 'True SucceededRescale',
    ScalingActive: 'True ValidMetricFound',
    ScalingLimited: 'False DesiredWithinRange',
  });
  const events = await eventually(
    () => client.list(kinds.Event, { namespace: 'default' }),
    (all) => all.some(({ reason }) => reason === 'SuccessfulRescale'),
  );
  expect(events.find(({ reason }) => reason === 'SuccessfulRescale')?.message).toBe(
    'New size: 4; reason: cpu resource utilization (percentage of request) above target',
  );
});

test('limits hold without metrics, and conditions say what is missing', async () => {
  const { client } = await cluster();
  await client.create(kinds.Deployment, deployment('web', { replicas: 1, template: web }));
  await client.create(kinds.HorizontalPodAutoscaler, autoscaler());
  await sized(client, 2);
  // a change of the spec is looked at without waiting
  await client.patch(kinds.HorizontalPodAutoscaler, autoscaler(), {
    type: 'merge',
    data: () => ({ spec: { maxReplicas: 4 } }),
  });
  const failed = await eventually(
    () => get(client),
    (one) => conditionsOf(one)['ScalingActive'] !== undefined,
  );
  expect(conditionsOf(failed)).toEqual({
    AbleToScale: 'True SucceededGetScale',
    ScalingActive: 'False FailedGetResourceMetric',
  });
  await client.patch(kinds.HorizontalPodAutoscaler, autoscaler(), {
    type: 'merge',
    data: () => ({ spec: { scaleTargetRef: { name: 'nobody' } } }),
  });
  await eventually(
    () => get(client),
    (one) => conditionsOf(one)['AbleToScale'] === 'False FailedGetScale',
  );
});
