import { type ApiClient, isNotFound } from '../api/client.ts';
import { configMapResource, secretResource, serviceAccountResource } from '../api/resources.ts';
import type { Clock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { ServiceAccounts } from '../containers/credentials/plugin-provider.ts';
import type { EventRecorder } from '../kube/events.ts';
import { namespaceOf, uidOf } from '../kube/names.ts';
import { referencedConfigMaps, referencedSecrets } from '../kube/references.ts';
import type { ResourceList } from '../kube/resources/resources.ts';
import type { ConfigMap, Pod, Secret, Volume } from '../kube/types.ts';
import type { Payload } from '../containers/volumes/atomic-writer.ts';
import { hostMounter, type Mounter } from '../containers/volumes/mounter.ts';
import { fsGroupOf, fsUserOf } from '../containers/volumes/ownership.ts';
import { configMapPayload, downwardPayload, secretPayload } from '../containers/volumes/payload.ts';
import { PodVolumes } from '../containers/volumes/pod-volumes.ts';
import { projectedPayload } from '../containers/volumes/projected.ts';
import { claimedVolume } from '../containers/objects/volume-claims.ts';
import { ObjectWatch } from '../containers/objects/watch-based-manager.ts';
import type { PodHost } from '../pods/pod-host.ts';
import { TokenManager } from '../containers/objects/token-manager.ts';
import { notSupported, TrustBundles } from '../containers/objects/trust-bundle-manager.ts';
import type { AgentOptions } from './agent-options.ts';
import type { CommonParts } from './common-parts.ts';
import type { NodeView } from './node-view.ts';

export interface HostDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly mounter: Mounter;
  /** Allows projected volumes with the cluster's trust bundles (feature gate ClusterTrustBundleProjection). */
  readonly projectsTrustBundles?: boolean;
  /** Writes secrets to memory-backed file systems only. */
  readonly secretsInMemory?: boolean;
  readonly rootDir: string;
  /** The API client. Without one the agent is standalone, and pods that reference API objects cannot run. */
  readonly kubeClient?: ApiClient;
  readonly nodeAllocatable: () => ResourceList;
}

/** The members of a {@link PodHost} for volumes, secrets and config maps; the caller adds the others. */
export interface NodeHost extends Pick<PodHost, 'volumes' | 'objects' | 'pullSecrets' | 'cleanupOrphans'> {
  readonly podVolumes: PodVolumes;
  /** Returns the files of a volume that is built from API objects; `undefined` for volumes of other kinds. */
  readonly payload: (pod: Pod, volume: Volume) => Promise<Payload> | undefined;
  readonly configMaps: ObjectWatch<ConfigMap>;
  readonly secrets: ObjectWatch<Secret>;
  /** The service accounts, for credential plug-ins that use their tokens. */
  readonly serviceAccounts: ServiceAccounts;
  stop(): void;
}

/** Makes the volumes of pods below the root directory, and the access to the API objects that pods reference. */
export const buildNodeHost = (options: AgentOptions, common: CommonParts, node: NodeView): NodeHost =>
  nodeHost({
    ...common,
    mounter: hostMounter,
    secretsInMemory: options.mountsVolumes === true,
    projectsTrustBundles: options.projectsTrustBundles ?? false,
    rootDir: options.rootDir,
    nodeAllocatable: () => node.allocatable(),
    ...(options.client && { kubeClient: options.client }),
  });

/**
 * Composes the volumes and objects of pods.
 *
 * @example
 * const host = nodeHost({ rootDir, kubeClient, mounter, nodeAllocatable, clock, random, logger, recorder });
 */
export function nodeHost(deps: HostDeps): NodeHost {
  const { clock, random, logger } = deps;
  const client = deps.kubeClient ?? standalone;
  const configMaps = new ObjectWatch<ConfigMap>(
    { client, clock, random, logger },
    configMapResource,
    referencedConfigMaps,
  );
  const secrets = new ObjectWatch<Secret>(
    { client, clock, random, logger },
    secretResource,
    referencedSecrets,
  );
  const tokens = new TokenManager(client, clock, random);
  const trustBundles = trustBundlesOf(deps);
  const payload: NodeHost['payload'] = (pod, volume) =>
    payloadOf({ ...deps, configMaps, secrets, tokens, trustBundles }, pod, volume);
  const podVolumes = new PodVolumes({
    ...deps,
    claimedVolume: (pod, claim, own) => claimedVolume(client, pod, claim, own),
    payloadOf: payload,
  });
  return {
    podVolumes,
    payload,
    configMaps,
    secrets,
    serviceAccounts: serviceAccountsOf(client, tokens),
    volumes: {
      mount: (pod, signal) => podVolumes.mount(pod, signal),
      unmount: async (pod) => {
        await podVolumes.unmount(pod);
        tokens.forget(uidOf(pod));
      },
    },
    objects: {
      register: (pod) => {
        configMaps.register(pod);
        secrets.register(pod);
      },
      unregister: (pod) => {
        configMaps.unregister(pod);
        secrets.unregister(pod);
      },
    },
    pullSecrets: (pod) => pullSecretsOf(deps, secrets, pod),
    cleanupOrphans: (desired, running) =>
      podVolumes.removeOrphans((uid) => desired.has(uid) || running.has(uid)),
    stop: () => {
      configMaps.stop();
      secrets.stop();
      trustBundles?.stop();
    },
  };
}

const serviceAccountsOf = (client: Pick<ApiClient, 'get'>, tokens: TokenManager): ServiceAccounts => ({
  get: (pod) =>
    client.get(serviceAccountResource, {
      namespace: namespaceOf(pod),
      name: pod.spec?.serviceAccountName ?? '',
    }),
  token: (pod, wish) => tokens.get(pod, wish),
});

/** Makes the access to trust bundles; `undefined` when the feature is off or there is no API server. */
const trustBundlesOf = ({
  projectsTrustBundles,
  kubeClient: client,
  ...deps
}: HostDeps): TrustBundles | undefined =>
  projectsTrustBundles && client ? new TrustBundles({ ...deps, client }) : undefined;

type PayloadParts = HostDeps & {
  readonly configMaps: ObjectWatch<ConfigMap>;
  readonly secrets: ObjectWatch<Secret>;
  readonly tokens: TokenManager;
  readonly trustBundles: TrustBundles | undefined;
};

function payloadOf(parts: PayloadParts, pod: Pod, volume: Volume): Promise<Payload> | undefined {
  const namespace = namespaceOf(pod);
  const { configMap, secret, downwardAPI, projected } = volume;
  const source = { pod, nodeAllocatable: parts.nodeAllocatable() };
  if (configMap)
    return found(parts.configMaps.get(namespace, configMap.name ?? ''), configMap.optional).then((object) =>
      configMapPayload(object, configMap),
    );
  if (secret)
    return found(parts.secrets.get(namespace, secret.secretName ?? ''), secret.optional).then((object) =>
      secretPayload(object, secret),
    );
  if (downwardAPI)
    return Promise.resolve().then(() =>
      downwardPayload(downwardAPI.items ?? [], downwardAPI.defaultMode, source),
    );
  if (!projected) return undefined;
  const [fsGroup, fsUser] = [fsGroupOf(pod), fsUserOf(pod)];
  return projectedPayload(projected, {
    ...source,
    getConfigMap: (name) => parts.configMaps.get(namespace, name),
    getSecret: (name) => parts.secrets.get(namespace, name),
    getToken: (wish) => parts.tokens.get(pod, wish),
    getTrustBundle: (wish) => parts.trustBundles?.get(wish) ?? Promise.reject(notSupported()),
    isNotFound,
    ...(fsGroup !== undefined && { fsGroup }),
    ...(fsUser !== undefined && { fsUser }),
  });
}

/** Reads an object; an optional one that does not exist counts as empty. */
async function found<T extends object>(
  object: Promise<T>,
  optional: boolean | undefined,
): Promise<T | Record<string, never>> {
  try {
    return await object;
  } catch (reason) {
    if (optional && isNotFound(reason)) return {};
    throw reason;
  }
}

/** Reads the image pull secrets of a pod. Missing ones are omitted with one Warning Event; never fails (R148). */
async function pullSecretsOf(
  { recorder, logger }: HostDeps,
  secrets: ObjectWatch<Secret>,
  pod: Pod,
): Promise<readonly Secret[]> {
  const names = (pod.spec?.imagePullSecrets ?? [])
    .map(({ name }) => name ?? '')
    .filter((name) => name !== '');
  if (names.length === 0) return [];
  const results = await Promise.allSettled(names.map((name) => secrets.get(namespaceOf(pod), name)));
  const missing = names.filter((_, index) => results[index]?.status === 'rejected');
  if (missing.length > 0) {
    const list = missing.join(', ');
    logger.warn('pull secrets could not be read', {
      uid: uidOf(pod),
      secrets: missing,
      err: messageOf(results.find((r) => r.status === 'rejected')?.reason),
    });
    recorder.event(
      pod,
      'Warning',
      'FailedToRetrieveImagePullSecret',
      `Unable to retrieve some image pull secrets (${list}); attempting to pull the image may not succeed.`,
    );
  }
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}

const refuse = (): never => {
  throw new AgentError('unavailable', 'standalone: there is no API server to read from');
};

/** The API client of a standalone agent: every request fails. */
const standalone: ApiClient = {
  get: refuse,
  list: refuse,
  watch: refuse,
  create: refuse,
  update: refuse,
  patch: refuse,
  delete: refuse,
  deleteCollection: refuse,
};
