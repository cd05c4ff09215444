import { Backoff } from '../../../src/base/backoff.ts';
import { backoffKey, crashBackoff } from '../../../src/containers/container/backoff.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { check, type Replay } from '../harness.ts';
import { podStatusFrom } from '../../../src/conformance/state-machines/support/runtime-status.ts';

interface Input {
  readonly container: string;
  readonly initialSeconds: number;
  readonly maxSeconds: number;
  readonly podName: string;
  readonly podNamespace: string;
  readonly podUID: string;
  readonly steps: readonly { readonly now: number; readonly finishedAt: number | null }[];
}

export const replay: Replay = ({ in: given, out }) => {
  const input = given as Input;
  let now = 0;
  const options = { initialMs: input.initialSeconds * 1000, maxMs: input.maxSeconds * 1000 };
  const backoff = new Backoff({ now: () => now }, options);
  const container = { name: input.container };
  const pod: Pod = {
    metadata: { name: input.podName, namespace: input.podNamespace, uid: input.podUID },
    spec: { containers: [container] },
  };
  const actual = input.steps.map(({ now: second, finishedAt }) => {
    now = second * 1000;
    const ended = {
      name: container.name,
      state: 'exited',
      finishedAt: new Date((finishedAt ?? 0) * 1000).toISOString(),
    };
    const containerStatuses = finishedAt === null ? [] : [ended];
    const status = podStatusFrom({ id: '', name: '', namespace: '', containerStatuses });
    const waits = crashBackoff(pod, container, status, backoff);
    return {
      delaySeconds: backoff.get(backoffKey(pod, container)) / 1000,
      inBackOff: waits !== undefined,
      message: waits?.message,
    };
  });
  return check(out, actual, { operation: given });
};
