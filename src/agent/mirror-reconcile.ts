import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { fullNameOf, keyOf, uidOf } from '../kube/names.ts';
import type { Node, Pod } from '../kube/types.ts';
import type { MirrorClient } from '../pods/mirror-client.ts';
import { isMirrorPodOf } from '../pods/pod-manager.ts';

export interface MirrorReconcileDeps {
  readonly mirrorClient: Pick<MirrorClient, 'createMirrorPod' | 'deleteMirrorPod'>;
  readonly logger: Logger;
  readonly nodeGetter: () => Node | undefined;
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
    const stale = mirror && (Boolean(mirror.metadata?.deletionTimestamp) || !isMirrorPodOf(mirror, pod));
    const deleted = stale ? await deps.mirrorClient.deleteMirrorPod(fullNameOf(pod), uidOf(mirror)) : false;
    if (mirror && !deleted) return;
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
