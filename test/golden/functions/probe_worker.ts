import { FakeClock } from '../../../src/base/fake-clock.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '../../../src/kube/types.ts';
import { ProbeWorker } from '../../../src/prober/probe-worker.ts';
import { type ProbeAnswer, Prober } from '../../../src/prober/prober.ts';
import { ProbeResults } from '../../../src/prober/results.ts';
import type { ProbeType } from '../../../src/prober/update-pod-status.ts';
import { check, type Replay } from '../harness.ts';
import {
  allHandlers,
  collectEvents,
  spelled,
} from '../../../src/conformance/state-machines/support/probes.ts';

interface TickStatus {
  readonly containerID?: string;
  readonly phase?: string;
  readonly started?: boolean | null;
  readonly startedAgo?: number;
  readonly state?: string;
  readonly exitCode?: number;
}

interface Input {
  readonly pod: Pod;
  readonly container: string;
  readonly type: string;
  readonly kubeletStartedAgo: number;
  readonly ticks: readonly { readonly result: string; readonly status: TickStatus | null }[];
}

const now = Date.parse('2026-03-04T05:06:07Z');
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();

function stateOf({ state, startedAgo = 0, exitCode = 0 }: TickStatus): ContainerState {
  if (state === 'running') return { running: { startedAt: ago(startedAgo) } };
  if (state === 'terminated') return { terminated: { exitCode } };
  return state === 'waiting' ? { waiting: {} } : {};
}

function statusOf(name: string, isInit: boolean, tick: TickStatus): PodStatus {
  const container: ContainerStatus = {
    name,
    image: '',
    imageID: '',
    ready: false,
    restartCount: 0,
    state: stateOf(tick),
    ...(tick.containerID !== undefined && { containerID: tick.containerID }),
    ...(tick.started != null && { started: tick.started }),
  };
  return {
    ...(tick.phase !== undefined && { phase: tick.phase }),
    [isInit ? 'initContainerStatuses' : 'containerStatuses']: [container],
  };
}

export const replay: Replay = async (line) => {
  const { pod, container: name, type, kubeletStartedAgo, ticks } = line['in'] as Input;
  const probeType = type.toLowerCase() as ProbeType;
  const init = pod.spec?.initContainers?.find((c) => c.name === name);
  const container = init ?? pod.spec?.containers.find((c) => c.name === name);
  const probe = container?.[`${probeType}Probe`];
  if (!container || !probe) throw new Error(`the pod has no ${type} probe in ${name}`);
  const results = new ProbeResults();
  let tick = ticks[0];
  const prober = new Prober(
    allHandlers(async () => {
      // "unknown" comes with an error there, so the answer is thrown away
      if (tick?.result === 'unknown') throw new Error('unknown');
      return { outcome: tick?.result as ProbeAnswer['outcome'], output: '' };
    }),
    collectEvents([]),
  );
  const worker = new ProbeWorker(
    { type: probeType, pod, container, probe },
    {
      clock: new FakeClock(now),
      random: systemRandom,
      results,
      managerStartedAt: now - kubeletStartedAgo * 1000,
      statusOf: () => (tick?.status ? statusOf(name, init !== undefined, tick.status) : undefined),
      probe: (...call) => prober.probe(...call),
      onEnd: () => undefined,
    },
  );
  const seen = [];
  for (tick of ticks) {
    const keepGoing = await worker.attempt();
    const result = results.get(worker.state.containerId);
    seen.push({ keepGoing, result: result ? spelled[result] : '', onHold: worker.state.onHold });
  }
  return check(line['out'], seen);
};
