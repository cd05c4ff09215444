import type { Container, ContainerStatus, Pod } from '../../../src/kube/types.ts';
import { containerStatuses, type StartFailure } from '../../../src/status/container-statuses.ts';
import { apiOptionalKeys } from '../../../src/conformance/state-machines/compare.ts';
import { check, type Replay } from '../harness.ts';
import {
  type RecordedPodStatus,
  runtimeStatusOf,
} from '../../../src/conformance/state-machines/support/pod-view.ts';

interface Input {
  readonly pod: Pod;
  readonly podStatus: RecordedPodStatus;
  readonly previousStatus: readonly ContainerStatus[] | null;
  readonly containers: readonly Container[] | null;
  readonly isInitContainer: boolean;
  readonly podRestarting: boolean;
  readonly reasonCache: Readonly<Record<string, StartFailure>>;
}

export const replay: Replay = (line) => {
  const input = line['in'] as Input;
  const actual = containerStatuses({
    pod: input.pod,
    runtime: runtimeStatusOf(input.podStatus),
    previous: input.previousStatus ?? [],
    containers: input.containers ?? [],
    kind: input.isInitContainer ? 'init' : 'regular',
    restartingAll: input.podRestarting,
    startFailureOf: (name) => input.reasonCache[name],
  });
  return check(line['out'], actual, {}, { optionalKeys: apiOptionalKeys });
};
