import { loadOptions } from '../../../src/options/load.ts';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '../../../src/agent/agent.ts';
import { createApiClient, type HttpApiClient } from '../../../src/api/rest/http-client.ts';
import { nodeResource, podResource, namespaceResource, type Resource } from '../../../src/api/resources.ts';
import { EmbeddedApiServer, type TokenUser } from '../../../src/apiserver/index.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import { criParts } from '../../../src/app/cri.ts';
import type { KubeObject, Node, Pod } from '../../../src/kube/types.ts';
import { serverHost } from '../../../src/agent/server-host.ts';
import { type OpenServer, serveHealthz } from '../../../src/server/kubelet-server.ts';
import { startContainerd } from '../../support/containerd.ts';
import { removeFolder } from '../../support/mounts.ts';
import { soon } from '../../support/found.ts';

/** A node with the fixture's pods, whose kubelet API answers. */
export interface KubeletBed {
  readonly port: number;
  readonly healthzPort: number;
  /** Reviews that the kubelet API has asked for so far. */
  readonly reviews: { readonly resource: string; readonly spec: unknown }[];
  readonly podUids: ReadonlyMap<string, string>;
  /** A client certificate that the kubelet API lets do everything. */
  readonly admin: { readonly cert: string; readonly key: string };
  stop(): Promise<void>;
}

const roles = ['metrics', 'stats', 'log', 'proxy', 'pods', 'healthz', 'configz', 'spec', 'checkpoint'];
const user = (name: string, groups: readonly string[], id = name): TokenUser => ({
  token: `${id}-token`,
  user: { name, uid: `${id}-uid`, groups },
});
const users: readonly TokenUser[] = [
  user('admin', ['system:masters']),
  user('system:node:node-a', ['system:nodes'], 'nodea'),
  user('alice', ['dev']),
  user('viewer', ['dev']),
  ...roles.map((role) => user(`k-${role}`, ['dev'])),
];

const image = 'localhost/busybox:1';
const idle = 'trap "exit 0" TERM; while true; do sleep 0.2; done';
const shell = (name: string, line: string, more: object = {}): object => ({
  name,
  image,
  command: ['/bin/sh', '-c', line],
  imagePullPolicy: 'IfNotPresent',
  ...more,
});

/** The fixture's pods without their node, by name. */
export const specs: Readonly<Record<string, object>> = {
  web: {
    containers: [
      shell(
        'c',
        `echo out1; echo err1 >&2; echo out2; sleep 1; echo out3; echo err2 >&2; mkdir -p /w; echo hi > /w/index.html; httpd -p 8080 -h /w; ${idle}`,
        { readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 2 } },
      ),
    ],
  },
  done: { restartPolicy: 'Never', containers: [shell('c', 'echo finished')] },
  again: {
    volumes: [{ name: 'd', emptyDir: {} }],
    containers: [
      shell('c', `if [ -e /d/x ]; then echo second; ${idle}; else touch /d/x; echo first; exit 7; fi`, {
        volumeMounts: [{ name: 'd', mountPath: '/d' }],
      }),
    ],
  },
  two: { initContainers: [shell('i', 'echo init-log')], containers: [shell('a', idle), shell('b', idle)] },
  stuck: { containers: [{ name: 'c', image: 'localhost/none:1', imagePullPolicy: 'Never' }] },
};

const rbac = (resource: string, kind: string): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource,
  kind,
  namespaced: false,
});

/** Starts runtime, API server and agent, and waits until the fixture stands. */
async function makeKubeletBed(): Promise<KubeletBed> {
  const dir = mkdtempSync(join(tmpdir(), 'pt-kubelet-'));
  const containerd = await startContainerd();
  const server = await EmbeddedApiServer.start({ tokens: users, minimalScheduler: false });
  const connect = (as: { cert: string; key: string }): HttpApiClient =>
    createApiClient({ server: server.url, ca: server.ca, ...as }, { clock, qps: 0 });
  const admin = connect(server.admin);
  const nodeClient = connect(server.clientCertificate('system:node:node-a', ['system:nodes']));
  const reviews: { resource: string; spec: unknown }[] = [];
  const { kubelet } = loadOptions({ hostname: 'node-a' });
  const cri = criParts({
    ...kubelet,
    containerRuntimeEndpoint: containerd.socket,
    runtimeRequestTimeout: '2m0s',
    podLogsDir: join(dir, 'logs'),
    serializeImagePulls: true,
  });
  const agent = await Agent.create({
    nodeName: 'node-a',
    rootDir: join(dir, 'kubelet'),
    client: watched(nodeClient, reviews),
    makeProvider: cri.makeProvider,
    node: cri.node,
    kubeletApi: {
      authorization: 'webhook',
      webhookTimes: { tokenMs: 0, allowedMs: 0, deniedMs: 0 },
      clientCa: server.ca,
      port: 0,
      address: '127.0.0.1',
      configz: () => ({ kind: 'KubeletConfiguration' }),
      flags: () => ({ address: '0.0.0.0' }),
      program: { startedAt: clock.now(), runtimeVersion: 'go1', version: '1.36.2' },
      commandLine: process.argv,
      setVerbosity: () => undefined,
      logsRoot: '/var/log',
      openMetrics: false, // the kubelet has none
    },
  });
  const stopping = new AbortController();
  const running = agent.run(stopping.signal);
  await until(async () => {
    const node = await admin.get<Node>(nodeResource, { name: 'node-a' }).catch(() => undefined);
    return (
      node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
    );
  });
  const self = await admin.get<Node>(nodeResource, { name: 'node-a' });
  const port = self.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  await admit(admin);
  const podUids = await makePods(admin);
  const healthz: OpenServer = await serveHealthz({
    host: serverHost({ engines: agent.controller.engines, nodeName: 'node-a' }),
    port: 0,
  });
  return {
    port,
    healthzPort: healthz.port,
    reviews,
    podUids,
    admin: server.admin,
    stop: async () => {
      stopping.abort();
      await running.catch(() => undefined);
      await healthz.close();
      await Promise.all([cri.close(), nodeClient.close(), admin.close()]);
      await server.stop();
      await containerd.stop();
      removeFolder(dir);
    },
  };
}

async function admit(admin: HttpApiClient): Promise<void> {
  for (const role of roles) {
    const name = `k-${role}`;
    const rules = [{ apiGroups: [''], resources: [`nodes/${role}`], verbs: ['*'] }];
    await admin.create(rbac('clusterroles', 'ClusterRole'), { metadata: { name }, rules } as KubeObject);
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
    const subjects = [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }];
    await admin.create(rbac('clusterrolebindings', 'ClusterRoleBinding'), {
      metadata: { name },
      roleRef,
      subjects,
    } as KubeObject);
  }
}

async function makePods(admin: HttpApiClient): Promise<ReadonlyMap<string, string>> {
  const namespace = 'kapi';
  await admin.create(namespaceResource, { metadata: { name: namespace } });
  await until(async () => {
    const accounts: Resource = { ...podResource, resource: 'serviceaccounts', kind: 'ServiceAccount' };
    const found = await admin.get(accounts, { namespace, name: 'default' }).catch(() => undefined);
    return found !== undefined;
  });
  const uids = new Map<string, string>();
  for (const [name, spec] of Object.entries(specs)) {
    const pod = {
      metadata: { name, namespace },
      spec: { nodeName: 'node-a', terminationGracePeriodSeconds: 1, ...spec },
    };
    const made = await admin.create<Pod>(podResource, pod as Pod);
    uids.set(name, made.metadata?.uid ?? '');
  }
  await until(async () => {
    const { items } = await admin.list<Pod>(podResource, { namespace });
    return items.every(isAsRecorded);
  });
  return uids;
}

function isAsRecorded({ metadata, status }: Pod): boolean {
  const ready =
    status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
  if (metadata?.name === 'done') return status?.phase === 'Succeeded';
  if (metadata?.name === 'stuck')
    return (
      status?.containerStatuses?.some(({ state }) => state?.waiting?.reason === 'ErrImageNeverPull') ?? false
    );
  if (metadata?.name === 'again') return ready && status?.containerStatuses?.[0]?.restartCount === 1;
  return ready;
}

const until = (holds: () => Promise<boolean>): Promise<void> =>
  soon(holds.toString(), holds, { withinMs: 90_000, everyMs: 100 });

/** The client, with a note of every review. */
function watched(client: HttpApiClient, reviews: { resource: string; spec: unknown }[]): HttpApiClient {
  const create: HttpApiClient['create'] = (resource, object, options) => {
    const { spec } = object as { readonly spec?: unknown };
    if (resource.resource.endsWith('reviews')) reviews.push({ resource: resource.resource, spec });
    return client.create(resource, object, options);
  };
  return new Proxy(client, {
    get: (target, name): unknown => {
      if (name === 'create') return create;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value;
    },
  });
}

let shared: Promise<KubeletBed> | undefined;

/** The one bed of a run: its parts are costly. */
export const sharedBed = (): Promise<KubeletBed> => (shared ??= makeKubeletBed());

/** Stops the bed, if there is one. */
export async function stopSharedBed(): Promise<void> {
  const bed = await shared?.catch(() => undefined);
  shared = undefined;
  await bed?.stop();
}
