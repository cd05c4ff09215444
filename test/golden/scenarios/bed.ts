import type { ApiClient } from '../../../src/api/client.ts';
import { podResource } from '../../../src/api/resources.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { type CriAgent, startCriAgent } from '../../support/cri-agent.ts';
import { busyboxImage } from '../../support/images.ts';
import { startRegistry } from '../../support/registry.ts';

/** Everything a scenario is played on: runtime, registry, API server and the agent. */
export interface Bed extends CriAgent {
  /** `namespace verb resource/subresource` of every request of the agent so far. */
  readonly requests: readonly string[];
}

/** What the recordings name as the registry. */
const registryPort = 5999;

/** Has the content of `localhost/busybox:1`, which the node has been given. */
const twin = `localhost:${registryPort}/busybox:1`;

/** @param binaries folder of another containerd than the machine's */
export async function makeBed(binaries: string | undefined): Promise<Bed> {
  const run = { Cmd: ['/bin/sh', '-c', 'sleep 3600'] };
  const images = [busyboxImage(`localhost:${registryPort}/app:1`, run), busyboxImage(twin)];
  const registry = await startRegistry(images, { port: registryPort });
  const requests: string[] = [];
  const node = await startCriAgent({
    ...(binaries !== undefined && { binaries }),
    cgroupRoot: '/pt-scenarios',
    kubelet: { runtimeRequestTimeout: '2m0s', serializeImagePulls: true },
    client: (client) => recorded(client, requests),
  });
  return {
    ...node,
    get agent() {
      return node.agent;
    },
    requests,
    stop: async () => {
      await node.stop();
      await registry.close();
    },
  };
}

/**
 * Lets the node pull the image that it has been given under another name. From then on the image no longer counts as one that was
 * there before the agent (kubelet `KubeletEnsureSecretPulledImages`), so it is pulled anew under either name.
 */
export async function pullTwin({ admin }: Bed): Promise<void> {
  const at = { namespace: 'twin', name: 'twin' };
  const containers = [{ name: 'c', image: twin, command: ['/bin/true'] }];
  const post = (path: string, name: string): Promise<unknown> =>
    admin.raw(path, { method: 'POST', contentType: 'application/json', body: { metadata: { name } } });
  await post('/api/v1/namespaces', at.namespace);
  await post(`/api/v1/namespaces/${at.namespace}/serviceaccounts`, 'default');
  await admin.create<Pod>(podResource, {
    metadata: at,
    spec: {
      nodeName: 'node-a',
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      containers,
    },
  });
  const signal = AbortSignal.timeout(60_000);
  while ((await admin.get<Pod>(podResource, at)).status?.phase !== 'Succeeded')
    await clock.sleep(100, signal);
  await admin.delete(podResource, at, { gracePeriodSeconds: 0 });
}

/** The client, with a note of every call. */
function recorded(client: ApiClient, requests: string[]): ApiClient {
  return new Proxy(client, {
    get(target, verb, self): unknown {
      const method = Reflect.get(target, verb, self) as unknown;
      if (typeof method !== 'function' || typeof verb !== 'string') return method;
      return (...args: readonly unknown[]) => {
        requests.push(requestText(verb, args));
        return Reflect.apply(method, target, args) as unknown;
      };
    },
  });
}

function requestText(verb: string, args: readonly unknown[]): string {
  const [resource, second] = args as readonly [
    { readonly resource?: string }?,
    { readonly namespace?: string; readonly metadata?: { readonly namespace?: string } }?,
  ];
  const options = (verb === 'patch' ? args[3] : args[2]) as { readonly subresource?: string } | undefined;
  const namespace = second?.namespace ?? second?.metadata?.namespace ?? '-';
  const sub = options?.subresource === undefined ? '' : `/${options.subresource}`;
  return `${namespace} ${verb} ${resource?.resource ?? ''}${sub}`;
}
