import { PodManager } from '../../../src/pods/pod-manager.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { uidOf } from '../../../src/kube/names.ts';
import type { Pod, PodSpec, PodStatus } from '../../../src/kube/types.ts';
import { isPodStatusByKubeletEqual } from '../../../src/status/equal.ts';
import { mergePodStatus } from '../../../src/status/merge.ts';
import { normalizeStatus } from '../../../src/status/normalize.ts';
import { StatusManager } from '../../../src/status/status-manager.ts';
import { illegalTransition } from '../../../src/status/transitions.ts';
import { apiOptionalKeys } from '../../../src/conformance/state-machines/compare.ts';
import { check, type Replay } from '../harness.ts';

/** "Now" as the recording shows it. */
const now = '2099-01-01T00:00:00Z';

interface Input {
  readonly op: string;
  readonly pod: Pod;
  readonly spec?: PodSpec;
  readonly old: PodStatus;
  readonly new: PodStatus;
  readonly status: PodStatus;
  readonly status2?: PodStatus;
  readonly couldHaveRunningContainers?: boolean;
  readonly action?: string;
  readonly container?: string;
  readonly value?: boolean;
}

const unavailable = async (): Promise<never> => {
  throw new Error('there is no API server here');
};

function sequence(input: Input): unknown {
  const { pod, status, action } = input;
  const pods = new PodManager();
  pods.updatePod(pod);
  const manager = new StatusManager({
    clock: new FakeClock(Date.parse(now)),
    logger: silentLogger,
    pods,
    deletionSafety: { podCouldHaveRunningContainers: () => false },
    client: { getPod: unavailable, patchStatus: unavailable, deletePod: unavailable },
  });
  const uid = uidOf(pod);
  if (action !== 'terminateOnly') manager.setPodStatus(pod, status);
  const id = `cri-o://${input.container ?? ''}`;
  if (action === 'terminate' || action === 'terminateOnly') manager.terminatePod(pod);
  if (action === 'set2') manager.setPodStatus(pod, input.status2 ?? status);
  if (action === 'readiness') manager.setContainerReadiness(uid, id, input.value ?? false);
  if (action === 'startup') manager.setContainerStartup(uid, id, input.value ?? false);
  const found = manager.getPodStatus(uid);
  return { found: found !== undefined, status: found };
}

const operations: Readonly<Record<string, (input: Input) => unknown>> = {
  normalize: ({ pod, status }) => normalizeStatus(pod, status),
  merge: (i) =>
    mergePodStatus(i.pod, i.old, i.new, {
      couldHaveRunningContainers: i.couldHaveRunningContainers ?? false,
      now,
    }),
  equal: (i) => isPodStatusByKubeletEqual(i.old, i.new),
  transition: (i) => illegalTransition(i.old, i.new, i.spec ?? i.pod.spec ?? { containers: [] }),
  sequence,
};

export const replay: Replay = (line) => {
  const input = line['in'] as Input;
  const run = operations[input.op];
  if (!run) throw new Error(`no operation ${input.op}`);
  const expected = line['out'] as Readonly<Record<string, unknown>>;
  const actual = run(input);
  const operation = { op: input.op, action: input.action };
  return check(expected, shapeLike(expected, actual), { operation }, { optionalKeys: apiOptionalKeys });
};

/** Results that are not objects are kept under a name. */
function shapeLike(expected: Readonly<Record<string, unknown>>, actual: unknown): unknown {
  const [key] = Object.keys(expected);
  const named = key !== undefined && (typeof actual !== 'object' || actual === null);
  return named ? { [key]: actual } : actual;
}
