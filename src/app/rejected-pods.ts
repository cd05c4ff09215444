import type { Clock } from '../base/clock.ts';
import { keyOf, uidOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import type { Engines } from '../pods/engines.ts';
import type { PodChange } from './running.ts';

/** Poll interval of static pods, ms. */
const lookMs = 1000;

/** The part of an agent with its static pods. */
export interface StaticPods {
  readonly podManager: Pick<Engines['podManager'], 'getStaticPodToMirrorPodMap'>;
  readonly statusManager: Pick<Engines['statusManager'], 'getPodStatus'>;
}

/** Reports rejected static pods: they have no mirror pod, so the API server and its watchers do not show them. */
export function watchRejected(
  { podManager, statusManager }: StaticPods,
  clock: Pick<Clock, 'timer'>,
  listener: (change: PodChange) => void,
): () => void {
  let shown = new Map<string, string>();
  const look = (): void => {
    const found = new Map<string, string>();
    for (const pod of rejectedPods({ podManager, statusManager })) {
      const status = JSON.stringify(pod.status);
      found.set(keyOf(pod), status);
      if (shown.get(keyOf(pod)) !== status) listener({ type: 'set', pod });
    }
    const mirrored = new Set<string>();
    for (const [pod, mirror] of podManager.getStaticPodToMirrorPodMap()) if (mirror) mirrored.add(keyOf(pod));
    // the API server shows those with a mirror pod
    for (const key of shown.keys())
      if (!found.has(key) && !mirrored.has(key)) listener({ type: 'gone', key });
    shown = found;
    stop = clock.timer(lookMs, look);
  };
  let stop = clock.timer(lookMs, look);
  return () => {
    stop();
  };
}

function* rejectedPods({ podManager, statusManager }: StaticPods): Generator<Pod> {
  for (const [pod, mirror] of podManager.getStaticPodToMirrorPodMap()) {
    const status = statusManager.getPodStatus(uidOf(pod));
    if (!mirror && status?.phase === 'Failed') yield { ...pod, status };
  }
}
