import type { Logger } from '../base/logger.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { type ApiClient, isAlreadyExists, isConflict, isNotFound } from '../api/client.ts';
import { podResource } from '../api/resources.ts';
import {
  annotationOf,
  configHashAnnotation,
  configMirrorAnnotation,
  keyOf,
  nameOf,
  namespaceOf,
  uidOf,
  fullNameOf,
} from '../kube/names.ts';
import type { Node, OwnerReference, Pod } from '../kube/types.ts';
import { isMirrorPodOf } from './pod-manager.ts';

export interface MirrorClientDeps {
  /** The API client; absent in a standalone agent, which neither creates nor deletes mirror pods (R25). */
  readonly api?: Pick<ApiClient, 'get' | 'create' | 'delete'>;
  readonly nodeName: string;
  /** The last observed node; rejects while it is unknown. */
  getNode(): Promise<Node>;
  readonly logger: Logger;
}

/**
 * MirrorClient creates and deletes the mirror pods of static pods in the API server (R241…R244).
 *
 * Follows kubelet `pod.MirrorClient`.
 */
export class MirrorClient {
  readonly #deps: MirrorClientDeps;

  constructor(deps: MirrorClientDeps) {
    this.#deps = deps;
  }

  /**
   * Creates a mirror pod: a copy of the static pod, owned by the node. An existing one with the same hash counts as created (R242).
   *
   * @throws {AgentError} when the node or its UID is unknown; {ApiError} when the server refuses
   */
  async createMirrorPod(pod: Pod, signal?: AbortSignal): Promise<void> {
    const { api } = this.#deps;
    if (!api) return;
    const nodeUid = await this.#nodeUid();
    const mirror = mirrorOf(pod, { name: this.#deps.nodeName, uid: nodeUid });
    try {
      await api.create(podResource, mirror, { ...(signal && { signal }) });
    } catch (reason) {
      if (isAlreadyExists(reason) && (await this.#isSame(api, mirror, signal))) return;
      throw reason;
    }
  }

  /**
   * Deletes a mirror pod without grace period, with `uid` as a precondition when it is passed. Has no effect when the pod is gone or has
   * another UID (R241).
   *
   * @returns whether this call deleted it; false also when the server failed, which is logged
   * @throws {AgentError} `invalid_argument` when `fullName` is not `name_namespace`
   */
  async deleteMirrorPod(fullName: string, uid?: string, signal?: AbortSignal): Promise<boolean> {
    const { api, logger } = this.#deps;
    if (!api) return false;
    const ref = parseFullName(fullName);
    try {
      await api.delete(podResource, ref, {
        gracePeriodSeconds: 0,
        ...(uid !== undefined && { preconditions: { uid } }),
        ...(signal && { signal }),
      });
      return true;
    } catch (reason) {
      if (!isNotFound(reason) && !isConflict(reason))
        logger.error('mirror pod could not be deleted', {
          pod: `${ref.namespace}/${ref.name}`,
          err: messageOf(reason),
        });
      return false;
    }
  }

  async #nodeUid(): Promise<string> {
    let node: Node;
    try {
      node = await this.#deps.getNode();
    } catch (reason) {
      throw new AgentError('unavailable', `failed to get node UID: ${messageOf(reason)}`, { cause: reason });
    }
    const uid = uidOf(node);
    if (uid === '')
      throw new AgentError('internal', `failed to get node UID: UID unset for node ${this.#deps.nodeName}`);
    return uid;
  }

  async #isSame(api: Pick<ApiClient, 'get'>, mirror: Pod, signal?: AbortSignal): Promise<boolean> {
    try {
      const ref = { namespace: namespaceOf(mirror), name: nameOf(mirror) };
      const present = await api.get<Pod>(podResource, ref, { ...(signal && { signal }) });
      const hash = annotationOf(present, configMirrorAnnotation);
      return hash !== undefined && hash === annotationOf(mirror, configMirrorAnnotation);
    } catch (reason) {
      this.#deps.logger.debug('mirror pod could not be read', {
        pod: keyOf(mirror),
        err: messageOf(reason),
      });
      return false;
    }
  }
}

/** Makes the mirror pod of a static pod, with its hash as the mirror annotation and the node as its only, controlling owner. */
export function mirrorOf(pod: Pod, node: { readonly name: string; readonly uid: string }): Pod {
  const owner: OwnerReference = {
    apiVersion: 'v1',
    kind: 'Node',
    name: node.name,
    uid: node.uid,
    controller: true,
  };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      annotations: {
        ...pod.metadata?.annotations,
        [configMirrorAnnotation]: annotationOf(pod, configHashAnnotation) ?? '',
      },
      ownerReferences: [owner],
    },
  };
}

/** Splits a full name (`name_namespace`). @throws {AgentError} `invalid_argument` */
export function parseFullName(fullName: string): { readonly name: string; readonly namespace: string } {
  const [name, namespace, ...rest] = fullName.split('_');
  if (!name || !namespace || rest.length > 0)
    throw new AgentError('invalid_argument', `failed to parse the pod full name ${JSON.stringify(fullName)}`);
  return { name, namespace };
}

export interface MirrorReconcileDeps {
  readonly mirrorClient: Pick<MirrorClient, 'createMirrorPod' | 'deleteMirrorPod'>;
  readonly logger: Logger;
  readonly nodeGetter: () => Node | undefined;
  /** Waits between the deletion of a mirror pod and its next creation; absent: no wait. */
  readonly pause?: () => Promise<void>;
}

/**
 * Reconciles the mirror pod of a static pod: deletes an outdated or terminating one and creates a missing one, unless the node is being
 * deleted (R241, R242). A failure is logged and does not fail the pod (R243).
 *
 * Follows kubelet `tryReconcileMirrorPods`.
 */
export async function reconcileMirror(
  deps: MirrorReconcileDeps,
  pod: Pod,
  mirror: Pod | undefined,
): Promise<void> {
  try {
    if (mirror && !(await removeStale(deps, pod, mirror))) return;
    const node = deps.nodeGetter();
    // a node without a UID is this agent's own object, which is not registered yet
    if (!node?.metadata?.uid || node.metadata.deletionTimestamp) return;
    await deps.mirrorClient.createMirrorPod(pod);
  } catch (reason) {
    deps.logger.error('mirror pod could not be created', {
      pod: keyOf(pod),
      uid: uidOf(pod),
      err: messageOf(reason),
    });
  }
}

/** Deletes a mirror pod that is terminating or differs from its static pod. @returns whether it is gone */
async function removeStale(
  { mirrorClient, pause }: MirrorReconcileDeps,
  pod: Pod,
  mirror: Pod,
): Promise<boolean> {
  if (!mirror.metadata?.deletionTimestamp && isMirrorPodOf(mirror, pod)) return false;
  const deleted = await mirrorClient.deleteMirrorPod(fullNameOf(pod), uidOf(mirror));
  if (deleted) await pause?.();
  return deleted;
}
