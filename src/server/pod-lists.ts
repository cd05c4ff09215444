import type { Pod } from '../kube/types.ts';
import type { RuntimePod } from '../provider/runtime-pod.ts';
import { json, type Reply } from './reply.ts';

/** Answers `/pods` with the pods bound to the node. */
export const podList = (items: readonly Pod[]): Reply =>
  json({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items });

/** Answers `/runningpods/` with what the runtime reports, reduced to what a runtime knows of pods (kubelet `ToAPIPod`). */
export const runningPodList = (pods: readonly RuntimePod[]): Reply => podList(pods.map(apiPodOf));

function apiPodOf({ uid, name, namespace, containers }: RuntimePod): Pod {
  return {
    metadata: { name, namespace, uid },
    spec: {
      containers: containers.map((container) => ({
        name: container.name,
        ...(container.image !== undefined && { image: container.image }),
        resources: {},
      })),
    },
    status: {},
  };
}

/** Returns the pods with running containers, reduced to those containers. */
export const runningOnly = (pods: readonly RuntimePod[]): readonly RuntimePod[] =>
  pods
    .map((pod) => ({ ...pod, containers: pod.containers.filter(({ state }) => state === 'running') }))
    .filter(
      ({ containers, sandboxes }) =>
        containers.length > 0 || sandboxes.some(({ state }) => state === 'running'),
    );
