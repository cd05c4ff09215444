import { FakeClock } from '../../../base/fake-clock.ts';
import { systemRandom } from '../../../base/random.ts';
import type { Pod, PodStatus } from '../../../kube/types.ts';
import { Prober } from '../../../prober/prober.ts';
import { ProbeResults } from '../../../prober/results.ts';
import type { ProbeType } from '../../../prober/update-pod-status.ts';
import { check, type Replay } from '../recording.ts';
import { allHandlers, answerFor, collectEvents, spelled } from '../support/probes.ts';

interface Step {
  readonly atMs: number;
  readonly op: { readonly outcome: string; readonly status?: PodStatus | null };
  readonly expect: Readonly<Record<string, unknown>>;
}

interface History {
  readonly pod: Pod;
  readonly container: string;
  readonly probeType: ProbeType;
  readonly steps: readonly Step[];
}

export const replay: Replay = async (line, _header, machines) => {
  const { pod, container: name, probeType, steps } = line as unknown as History;
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const container = containers.find((c) => c.name === name);
  const probe = container?.[`${probeType}Probe`];
  if (!container || !probe) throw new Error(`the pod has no ${probeType} probe in ${name}`);
  const clock = new FakeClock(Date.parse('2000-01-01T00:00:00Z'));
  const start = clock.now();
  const results = new ProbeResults();
  const events: string[] = [];
  const updates: unknown[] = [];
  let status: PodStatus | undefined;
  let outcome = '';
  let probed = 0;
  results.updates.subscribe(({ containerId, result, podUid }) =>
    updates.push({
      atMs: clock.now() - start,
      type: probeType,
      containerID: containerId,
      result: spelled[result],
      podUID: podUid,
    }),
  );
  const prober = new Prober(
    allHandlers(async () => {
      probed++;
      return answerFor(outcome);
    }),
    collectEvents(events),
  );
  const worker = machines.probeWorker(
    { type: probeType, pod, container, probe },
    {
      clock,
      random: systemRandom,
      results,
      managerStartedAt: start,
      statusOf: () => status,
      probe: (...call) => prober.probe(...call),
      onEnd: () => undefined,
    },
  );
  for (const [step, { atMs, op, expect }] of steps.entries()) {
    clock.set(start + atMs);
    if (op.status !== undefined) status = op.status ?? undefined;
    outcome = op.outcome;
    const keepGoing = await worker.attempt();
    const { containerId, lastResult, resultRun, onHold } = worker.state;
    const actual = {
      keepGoing,
      containerID: containerId === '' ? '://' : containerId,
      lastResult: spelled[lastResult],
      resultRun,
      onHold,
      probed,
      events: events.splice(0),
      updates: updates.splice(0),
      results: Object.fromEntries([...results.entries()].map(([id, result]) => [id, spelled[result]])),
    };
    probed = 0;
    const mismatch = check(expect, actual, { step, operation: op });
    if (mismatch) return mismatch;
  }
  return undefined;
};
