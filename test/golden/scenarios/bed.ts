import type { ApiClient } from '../../../src/api/client.ts';
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

/** @param binaries folder of another containerd than the machine's */
export async function makeBed(binaries: string | undefined): Promise<Bed> {
  const run = { Cmd: ['/bin/sh', '-c', 'sleep 3600'] };
  const registry = await startRegistry([busyboxImage(`localhost:${registryPort}/app:1`, run)], {
    port: registryPort,
  });
  const requests: string[] = [];
  const node = await startCriAgent({
    ...(binaries !== undefined && { binaries }),
    cgroupRoot: '/pt-scenarios',
    kubelet: { runtimeRequestTimeout: '2m0s', serializeImagePulls: true },
    client: (client) => recorded(client, requests),
  });
  return {
    ...node,
    requests,
    stop: async () => {
      await node.stop();
      await registry.close();
    },
  };
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
