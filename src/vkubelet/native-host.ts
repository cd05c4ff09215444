import { isNotFound } from '../api/client.ts';
import { AgentError } from '../base/errors.ts';
import type { Payload } from '../containers/volumes/atomic-writer.ts';
import { configMapPayload, downwardPayload, secretPayload } from '../containers/volumes/payload.ts';
import { projectedPayload } from '../containers/volumes/projected.ts';
import { namespaceOf } from '../kube/names.ts';
import type { ConfigMap, Pod, Secret, Volume } from '../kube/types.ts';
import type { PodHost } from '../pods/pod-host.ts';
import type { PodResolution } from '../provider/resolution.ts';

/** Where the objects that pods refer to are read. Both reject with `not_found` when there is none of that name. */
export interface NativeHostDeps {
  readonly configMap: (namespace: string, name: string) => Promise<ConfigMap>;
  readonly secret: (namespace: string, name: string) => Promise<Secret>;
  /** A token of the pod's service account, bound to the pod. */
  readonly token: (
    pod: Pod,
    wish: { readonly audience?: string; readonly expirationSeconds?: number },
  ) => Promise<string>;
  /** The pod with the variables of its containers resolved. */
  readonly resolveEnvironment: (pod: Pod) => Promise<Pod>;
  readonly nodeAllocatable: () => Readonly<Record<string, string>>;
}

/**
 * nativeHost gives providers of `podtender/provider` what the agent works out for pods: the values that their references stand for, and
 * their pull secrets. Used where a node has no agent around it.
 */
export const nativeHost = (deps: NativeHostDeps): Pick<PodHost, 'resolution' | 'pullSecrets'> => ({
  resolution: (pod) => resolutionOf(pod, deps),
  pullSecrets: (pod) => pullSecretsOf(pod, deps),
});

function resolutionOf(pod: Pod, deps: NativeHostDeps): PodResolution {
  return {
    environment: async (container) => {
      const alone = { ...pod, spec: { ...pod.spec, initContainers: [], containers: [container] } };
      const { spec } = await deps.resolveEnvironment(alone);
      return (spec?.containers[0]?.env ?? []).map(({ name, value = '' }) => ({ name, value }));
    },
    files: async (volume) => {
      const payload = await payloadOf(pod, volume, deps);
      return (
        payload && Object.entries(payload).map(([path, { data, mode }]) => ({ path, bytes: data, mode }))
      );
    },
    dns: () => Promise.resolve({}),
    hostname: () => pod.spec?.hostname ?? pod.metadata?.name ?? '',
  };
}

async function payloadOf(pod: Pod, volume: Volume, deps: NativeHostDeps): Promise<Payload | undefined> {
  const namespace = namespaceOf(pod);
  const { configMap, secret, downwardAPI, projected } = volume;
  const source = { pod, nodeAllocatable: deps.nodeAllocatable() };
  if (configMap) {
    const object = await optionally(deps.configMap(namespace, configMap.name ?? ''), configMap.optional);
    return configMapPayload(object ?? {}, configMap);
  }
  if (secret) {
    const object = await optionally(deps.secret(namespace, secret.secretName ?? ''), secret.optional);
    return secretPayload(object ?? {}, secret);
  }
  if (downwardAPI) return downwardPayload(downwardAPI.items ?? [], downwardAPI.defaultMode, source);
  if (!projected) return undefined;
  return projectedPayload(projected, {
    ...source,
    getConfigMap: (name) => deps.configMap(namespace, name),
    getSecret: (name) => deps.secret(namespace, name),
    getToken: (wish) => deps.token(pod, wish),
    getTrustBundle: () =>
      Promise.reject(new AgentError('unimplemented', 'cluster trust bundles are not supported by this node')),
    isNotFound,
  });
}

async function optionally<T>(object: Promise<T>, optional: boolean | undefined): Promise<T | undefined> {
  try {
    return await object;
  } catch (reason) {
    if (optional === true && isNotFound(reason)) return undefined;
    throw reason;
  }
}

/** Secrets that do not exist are left out: the image may be public (R148). */
async function pullSecretsOf(pod: Pod, { secret }: NativeHostDeps): Promise<readonly Secret[]> {
  const names = (pod.spec?.imagePullSecrets ?? [])
    .map(({ name }) => name ?? '')
    .filter((name) => name !== '');
  const found = await Promise.all(names.map((name) => optionally(secret(namespaceOf(pod), name), true)));
  return found.filter((one) => one !== undefined);
}
