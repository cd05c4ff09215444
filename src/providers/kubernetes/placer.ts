import { type ApiClient, isAlreadyExists, isNotFound } from '../../api/client.ts';
import { podResource } from '../../api/resources.ts';
import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { annotationOf, fullNameOf, nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import type { EphemeralContainer, Pod } from '../../kube/types.ts';
import type { PodSyncResult, SyncPodRequest, SyncResult } from '../../provider/provider.ts';
import { isOver } from './backing-status.ts';
import { type Carried, carriedOf } from './carried.ts';
import type { Carrier } from './carrier.ts';
import { backingMetadata, backingPod } from './convert-pod.ts';
import {
  type BackingOwner,
  backingName,
  backingNamespace,
  carriedAnnotation,
  isOwned,
  objectsGate,
  placeOf,
} from './ownership.ts';
import type { PodStore } from './pod-store.ts';
import type { KubernetesSettings } from './settings.ts';

export interface PlacerDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly owner: BackingOwner;
  readonly settings: KubernetesSettings;
  readonly store: PodStore;
  readonly carrier: Carrier;
}

/** What was seen of a backing pod that a sync may change. */
interface Change {
  readonly labels: Record<string, string | null>;
  readonly annotations: Record<string, string | null>;
  readonly images: readonly { readonly name: string; readonly image: string }[];
}

/**
 * Placer makes backing pods and keeps them as their pods are: labels, annotations, images, ephemeral containers, and the content of all
 * objects that were carried along. Names are the same at each try, so a pod never has two.
 */
export class Placer {
  readonly #deps: PlacerDeps;

  constructor(deps: PlacerDeps) {
    this.#deps = deps;
  }

  /** Makes the backing pod, or says why not. A failure resolves: the pod's worker tries again. */
  async place(request: SyncPodRequest, signal: AbortSignal): Promise<PodSyncResult> {
    const { pod } = request;
    const { owner, settings, store, clock } = this.#deps;
    const namespace = backingNamespace(settings, namespaceOf(pod));
    if (namespace === undefined)
      return refused(pod, 'NamespaceNotMapped', unmapped(namespaceOf(pod)), 'CreatePodSandbox');
    const name = backingName(owner, { name: nameOf(pod), uid: uidOf(pod) });
    let desired: Pod;
    let carried: Carried;
    try {
      carried = await carriedOf(pod, name, request);
      desired = await this.#desired(request, { name, namespace, carried });
    } catch (reason) {
      signal.throwIfAborted();
      return refused(pod, 'CreateContainerConfigError', messageOf(reason));
    }
    try {
      const created = await this.#create(desired, uidOf(pod), signal);
      store.seen(created, clock.now());
      await this.#complete(pod, created, carried, signal);
      return { results: [], changed: true };
    } catch (reason) {
      signal.throwIfAborted();
      return refused(pod, 'CreatePodSandboxError', messageOf(reason), 'CreatePodSandbox');
    }
  }

  /** Brings the backing pod to what its pod is now. */
  async refresh(request: SyncPodRequest, backing: Pod, signal: AbortSignal): Promise<PodSyncResult> {
    const { pod } = request;
    const { clock } = this.#deps;
    if (
      isOver({ pod: backing, gone: false }, clock.now()) ||
      backing.metadata?.deletionTimestamp !== undefined
    )
      return { results: [], changed: false };
    let carried: Carried;
    try {
      carried = await carriedOf(pod, nameOf(backing), request);
    } catch (reason) {
      signal.throwIfAborted();
      // a running pod continues with its present objects; a pod that waits for objects reports which are missing
      return isGated(backing)
        ? refused(pod, 'CreateContainerConfigError', messageOf(reason))
        : { results: [], changed: false, error: AgentError.from(reason) };
    }
    try {
      const finished = await this.#complete(pod, backing, carried, signal);
      const changed = await this.#update(pod, finished, signal);
      return { results: [], changed };
    } catch (reason) {
      signal.throwIfAborted();
      if (isNotFound(reason)) return { results: [], changed: true };
      return { results: [], changed: false, error: AgentError.from(reason) };
    }
  }

  async #desired(
    { pod, resolution }: SyncPodRequest,
    {
      name,
      namespace,
      carried,
    }: { readonly name: string; readonly namespace: string; readonly carried: Carried },
  ): Promise<Pod> {
    const { owner, settings } = this.#deps;
    const hostname = resolution?.hostname();
    const dns = settings.dns?.useNode === true ? await resolution?.dns() : undefined;
    return backingPod(pod, {
      ...{ name, namespace, owner, settings, carried },
      ...(hostname !== undefined && { hostname }),
      ...(dns && { dns }),
    });
  }

  /** Creates the backing pod, or takes over the one that an earlier try has made. */
  async #create(desired: Pod, uid: string, signal: AbortSignal): Promise<Pod> {
    const { client, owner } = this.#deps;
    try {
      return await client.create(podResource, desired, { signal });
    } catch (reason) {
      if (!isAlreadyExists(reason)) throw reason;
      const place = { name: nameOf(desired), namespace: namespaceOf(desired) };
      const standing = await client.get<Pod>(podResource, place, { signal });
      if (isOwned(standing, owner, uid)) return standing;
      throw new AgentError(
        'already_exists',
        `pod ${placeOf(desired)} of the backing cluster belongs to another: remove it`,
      );
    }
  }

  /** Writes the objects that the backing pod refers to, and lets it be scheduled. */
  async #complete(pod: Pod, backing: Pod, { objects }: Carried, signal: AbortSignal): Promise<Pod> {
    const { client, store, clock, carrier } = this.#deps;
    await carrier.write(uidOf(pod), backing, objects, signal);
    if (!isGated(backing)) return backing;
    const place = { name: nameOf(backing), namespace: namespaceOf(backing) };
    const gates = (backing.spec?.schedulingGates ?? []).filter(({ name }) => name !== objectsGate);
    const body = { spec: { schedulingGates: gates } };
    const open = await client.patch<Pod>(podResource, place, { type: 'merge', body }, { signal });
    store.seen(open, clock.now());
    return open;
  }

  async #update(pod: Pod, backing: Pod, signal: AbortSignal): Promise<boolean> {
    const { client, store, clock, owner, settings } = this.#deps;
    const place = { name: nameOf(backing), namespace: namespaceOf(backing) };
    const { labels, annotations, images } = changesOf(pod, backing, backingMetadata(pod, owner, settings));
    const added = addedEphemeral(pod, backing);
    const isChanged = [labels, annotations].some((map) => Object.keys(map).length > 0) || images.length > 0;
    if (isChanged) {
      const body = {
        metadata: { labels, annotations },
        ...(images.length > 0 && { spec: { containers: images } }),
      };
      const patch = { type: 'strategic', body } as const;
      store.seen(await client.patch<Pod>(podResource, place, patch, { signal }), clock.now());
    }
    if (added.length > 0) {
      const body = { spec: { ephemeralContainers: added } };
      const options = { signal, subresource: 'ephemeralcontainers' };
      store.seen(
        await client.patch<Pod>(podResource, place, { type: 'strategic', body }, options),
        clock.now(),
      );
    }
    return isChanged || added.length > 0;
  }
}

const isGated = ({ spec }: Pod): boolean =>
  (spec?.schedulingGates ?? []).some(({ name }) => name === objectsGate);

/** What a pod of an unmapped namespace is refused with. */
export const unmapped = (namespace: string): string =>
  `namespace ${namespace} has no namespace in the backing cluster: add it to namespaces in the provider's settings, or set namespace`;

/** The differences between a backing pod and what it is to be. */
function changesOf(
  pod: Pod,
  backing: Pod,
  desired: { readonly labels: Record<string, string>; readonly annotations: Record<string, string> },
): Change {
  const carried = carriedKeys(backing);
  const { labels = {}, annotations = {} } = backing.metadata ?? {};
  const standing = new Map((backing.spec?.containers ?? []).map(({ name, image }) => [name, image]));
  const images = (pod.spec?.containers ?? []).flatMap(({ name, image = '' }) =>
    standing.has(name) && standing.get(name) !== image ? [{ name, image }] : [],
  );
  return {
    labels: differences(labels, desired.labels, carried.labels),
    annotations: differences(annotations, desired.annotations, carried.annotations),
    images,
  };
}

/** A merge patch of a map: null for keys that the pod had and has lost. */
function differences(
  standing: Readonly<Record<string, string>>,
  desired: Readonly<Record<string, string>>,
  carried: readonly string[],
): Record<string, string | null> {
  const changed = Object.entries(desired).filter(([key, value]) => standing[key] !== value);
  const lost = carried.filter((key) => !Object.hasOwn(desired, key) && Object.hasOwn(standing, key));
  return Object.fromEntries([...changed, ...lost.map((key) => [key, null] as const)]);
}

function carriedKeys(backing: Pod): {
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
} {
  try {
    const { labels, annotations } = JSON.parse(annotationOf(backing, carriedAnnotation) ?? '{}') as Partial<
      Record<string, unknown>
    >;
    return { labels: textsOf(labels), annotations: textsOf(annotations) };
  } catch {
    return { labels: [], annotations: [] };
  }
}

const textsOf = (list: unknown): readonly string[] =>
  Array.isArray(list) ? list.filter((one): one is string => typeof one === 'string') : [];

function addedEphemeral(pod: Pod, backing: Pod): readonly EphemeralContainer[] {
  const standing = new Set((backing.spec?.ephemeralContainers ?? []).map(({ name }) => name));
  return (pod.spec?.ephemeralContainers ?? []).filter(({ name }) => !standing.has(name));
}

/** A sync that failed, with the reason as the waiting reason of each container, or of the sandbox. */
function refused(
  pod: Pod,
  reason: string,
  message: string,
  action: SyncResult['action'] = 'StartContainer',
): PodSyncResult {
  const targets =
    action === 'StartContainer' ? (pod.spec?.containers ?? []).map(({ name }) => name) : [fullNameOf(pod)];
  const results = targets.map((target): SyncResult => ({ action, target, reason, message }));
  return { results, error: new AgentError('failed_precondition', message), changed: false };
}
