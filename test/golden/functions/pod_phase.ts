import type { ContainerStatus, Pod } from '../../../src/kube/types.ts';
import { podPhase } from '../../../src/status/phase.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly pod: Pod;
  readonly info: readonly ContainerStatus[] | null;
  readonly podIsTerminal: boolean;
  readonly podHasInitialized: boolean;
}

export const replay: Replay = (line) => {
  const { pod: recorded, info, podIsTerminal, podHasInitialized } = line['in'] as Input;
  // Go writes a list of no containers as null or not at all
  const pod = { ...recorded, spec: { ...recorded.spec, containers: recorded.spec?.containers ?? [] } };
  return check(line['out'], { phase: podPhase(pod, info ?? [], { podIsTerminal, podHasInitialized }) });
};
