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
  /** Absent: standalone, mirrors are neither made nor deleted (R25). */
  readonly api?: Pick<ApiClient, 'get' | 'create' | 'delete'>;
  readonly nodeName: string;
  /** The node as last seen; rejects while it is unknown. */
  getNode(): Promise<Node>;
  readonly logger: Logger;
}

/**
 * Makes and deletes the shadows of static pods in the API server (R241…R244).
 *
 * Follows kubelet `pod.MirrorClient`.
 */
export class MirrorClient {
  readonly #deps: MirrorClientDeps;

  constructor(deps: MirrorClientDeps) {
    this.#deps = deps;
  }

  /**
   * R242: a copy of the static pod, owned by the node. One that exists with the same hash is as good.
   *
   * @throws {AgentError} the node or its UID is not known; {ApiError} the server refused
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
   * R241: deletes at once, and only that UID if one is given. Gone or another UID: nothing was to do.
   *
   * @returns whether this call deleted it; a failing server is logged and gives false
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

/** The mirror of a static pod: its hash as the mirror annotation, the node as its only, controlling owner. */
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

/** `name_namespace` in its two halves. @throws {AgentError} `invalid_argument` */
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
  /** Waits between the deletion of a mirror and its next creation; absent: not at all. */
  readonly pause?: () => Promise<void>;
}

/**
 * Makes the shadow of a static pod equal to it: an outdated or dying one is deleted, a missing one created, unless the node is going
 * (R241, R242). A failure is logged and never the pod's (R243).
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
    // without a UID it is this agent's own idea of its node, not yet the API server's
    if (!node?.metadata?.uid || node.metadata.deletionTimestamp) return;
    await deps.mirrorClient.createMirrorPod(pod);
  } catch (reason) {
    deps.logger.error('mirror pod could not be made', {
      pod: keyOf(pod),
      uid: uidOf(pod),
      err: messageOf(reason),
    });
  }
}

/** Deletes a mirror that is dying or says something else than its pod. @returns whether it is gone */
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
