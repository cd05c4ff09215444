import { keyOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import type { PodProvider } from '../provider/provider.ts';
import type { RuntimePod } from '../provider/runtime-pod.ts';

export interface StopPodsDeps {
  readonly provider: Pick<PodProvider, 'listPods' | 'killPod'>;
  /** Returns the desired pod, with its grace period and hooks; undefined: only the runtime has it. */
  readonly podOf: (uid: string) => Pod | undefined;
}

const isRunning = ({ containers, sandboxes }: RuntimePod): boolean =>
  [...containers, ...sandboxes].some(({ state }) => state === 'running');

/** Stops every running pod concurrently, each within its grace period; when `force` aborts, kills the remaining ones. */
export async function stopPods(
  { provider, podOf }: StopPodsDeps,
  onProgress: (stillRunning: readonly string[]) => void,
  force: AbortSignal,
): Promise<void> {
  const running = (await provider.listPods()).filter(isRunning);
  const left = new Map(running.map((pod) => [pod.uid, `${pod.namespace}/${pod.name}`]));
  const tell = (): void => {
    onProgress([...left.values()]);
  };
  tell();
  const never = new AbortController().signal;
  await Promise.all(
    running.map(async (target) => {
      const pod = podOf(target.uid);
      if (pod) left.set(target.uid, keyOf(pod));
      const gently = provider.killPod(pod, target, undefined, never);
      await Promise.race([gently, killWhen(force, () => provider.killPod(pod, target, 0, never))]);
      left.delete(target.uid);
      tell();
    }),
  );
}

/** Never resolves unless `force` aborts; then resolves with the result of `kill`. */
function killWhen(force: AbortSignal, kill: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const act = (): void => {
      kill().then(resolve, reject);
    };
    if (force.aborted) act();
    else force.addEventListener('abort', act, { once: true });
  });
}
