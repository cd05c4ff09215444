import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApiClient } from '../../../src/api/rest/http-client.ts';
import { configMapResource, podResource, secretResource } from '../../../src/api/resources.ts';
import { Informer } from '../../../src/api/cache/informer.ts';
import { startApiServer } from '../../../src/apiserver/index.ts';
import { runNode } from '../../../src/app/run-node.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import { nameOf, uidOf } from '../../../src/kube/names.ts';
import type { KubeObject, Pod } from '../../../src/kube/types.ts';
import { MemoryProvider } from '../../../src/providers/memory/index.ts';
import type { Bed, BedOptions } from './beds.ts';
import { podOf, type PodSetting } from './pods.ts';

/** The behaviour of each kind of pod on the backing node, which runs pods in memory. */
const behaviours: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  plain: {},
  pair: {},
  init: {},
  defiant: { 'stop-delay-ms': '4000' },
  crashing: { 'run-ms': '500', 'exit-code': '1' },
  done: { 'main.run-ms': '1000' },
  failed: { 'main.run-ms': '500', 'main.exit-code': '3' },
};

const uidLabel = 'podtender.io/pod-uid';
const podUidOf = ({ metadata }: KubeObject): string => metadata?.labels?.[uidLabel] ?? '';

/** Pods as pods of a second cluster in this process. */
export async function kubernetesBed({ dir }: BedOptions): Promise<Bed> {
  const server = await startApiServer();
  const connection = { server: server.url, ca: server.ca, ...server.admin };
  const client = createApiClient(connection, { clock, qps: 0 });
  const backing = new MemoryProvider({ clock });
  const node = await runNode({ nodeName: 'worker', provider: backing, server });
  const config = join(dir, 'backing.yaml');
  const kubeconfig = join(dir, 'backing.kubeconfig');
  writeFileSync(kubeconfig, kubeconfigOf(connection));
  writeFileSync(config, 'kubeconfig: ./backing.kubeconfig\nnamespace: default\n');
  /** By the UID of a pod: its backing pods. */
  const made = new Map<string, Set<string>>();
  const pods = new Informer<Pod>({ client, clock }, podResource, {});
  pods.addHandler({
    added: (pod) => {
      made.set(podUidOf(pod), (made.get(podUidOf(pod)) ?? new Set()).add(uidOf(pod)));
    },
  });
  const stop = new AbortController();
  const watching = pods.run(stop.signal);
  return {
    isolated: false,
    args: ['--provider', 'kubernetes', '--provider-config', config],
    pods: { kinds: Object.keys(behaviours), podOf: backingKind, runsOf: (uid) => made.get(uid)?.size ?? 0 },
    running: async () => {
      const { items } = await client.list<Pod>(podResource, {});
      const byUid = new Map(items.map((pod) => [uidOf(pod), pod]));
      return (await backing.listPods()).flatMap(({ uid, name, containers }) => {
        const of = byUid.get(uid);
        return containers
          .filter(({ state }) => state === 'running')
          .map((one) => ({
            ...{ id: one.id, name: one.name, uid: of ? podUidOf(of) : uid },
            pod: of?.metadata?.annotations?.['podtender.io/pod']?.split('/')[1] ?? name,
          }));
      });
    },
    doubledSandboxes: async () => {
      const { items } = await client.list<Pod>(podResource, {});
      const uids = items.filter(({ metadata }) => metadata?.deletionTimestamp === undefined).map(podUidOf);
      return uids.filter((uid, index) => uids.indexOf(uid) !== index);
    },
    left: async (uids) => {
      const lists = await Promise.all(
        [podResource, configMapResource, secretResource].map((resource) =>
          client.list(resource, { labelSelector: uidLabel }),
        ),
      );
      return lists
        .flatMap(({ items }) => items)
        .filter((object) => !uids.has(podUidOf(object)))
        .map((object) => `${object.kind ?? 'object'} ${nameOf(object)} of pod ${podUidOf(object)}`);
    },
    forgotten: () => [],
    stop: async () => {
      stop.abort();
      await watching.catch(() => undefined);
      await node.stop();
      await client.close();
      await server.stop();
    },
  };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const kubeconfigOf = (to: { server: string; ca: string; cert: string; key: string }): string =>
  JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
    clusters: [{ name: 'c', cluster: { server: to.server, 'certificate-authority-data': base64(to.ca) } }],
    users: [
      {
        name: 'c',
        user: { 'client-certificate-data': base64(to.cert), 'client-key-data': base64(to.key) },
      },
    ],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
  });

function backingKind(name: string, kind: string, setting: PodSetting): Pod {
  const pod = podOf(name, kind, setting);
  const { restartPolicy, containers, nodeName } = pod.spec!;
  const annotations = Object.entries(behaviours[kind] ?? {}).map(([key, value]) => [
    `podtender.io/memory.${key.replace('main', containers[0]?.name ?? 'main')}`,
    value,
  ]);
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      annotations: { ...pod.metadata?.annotations, ...(Object.fromEntries(annotations) as object) },
    },
    spec: {
      nodeName: nodeName!,
      tolerations: [{ operator: 'Exists' }],
      terminationGracePeriodSeconds: 5,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      restartPolicy: restartPolicy!,
      containers: containers.map((container) => ({ name: container.name, image: 'web' })),
      ...(kind === 'init' && { initContainers: [{ name: 'first', image: 'web' }] }),
    },
  };
}
