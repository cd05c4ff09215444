import { effectiveGracePeriod } from '../../../src/podworkers/grace-period.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly current: number;
  readonly deletionGracePeriodSeconds: number | null;
  readonly override: number | null;
  readonly specTerminationGracePeriodSeconds: number | null;
}

export const replay: Replay = (line) => {
  const input = line['in'] as Input;
  const { deletionGracePeriodSeconds: deletion, specTerminationGracePeriodSeconds: spec } = input;
  const { gracePeriodSeconds, shortened } = effectiveGracePeriod({
    current: input.current,
    override: input.override ?? undefined,
    pod: {
      metadata: { ...(deletion !== null && { deletionGracePeriodSeconds: deletion }) },
      spec: { containers: [], ...(spec !== null && { terminationGracePeriodSeconds: spec }) },
    },
  });
  return check(line['out'], { gracePeriod: gracePeriodSeconds, shortened });
};
