import {
  linuxResources,
  overheadResources,
  type ResourceSettings,
  sandboxResources,
} from '../../../src/containers/kuberuntime/config/resources.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { check, type Replay } from '../harness.ts';
import { toProtoJson } from '../support/cri-json.ts';
import { type RecordedNode, settingsOf } from '../support/cri-node.ts';

interface Input extends RecordedNode {
  readonly pod: Pod;
  readonly memoryQoS: boolean;
  readonly memoryReservationPolicy: string;
}

/** As the header says: factor 0.9, allocatable 32Gi. */
const qosOf = ({ memoryReservationPolicy }: Input): NonNullable<ResourceSettings['memoryQos']> => ({
  reservationPolicy: memoryReservationPolicy,
  throttlingFactor: 0.9,
  allocatableBytes: 32 * 2 ** 30,
});

export const replay: Replay = ({ in: given, out }) => {
  const input = given as Input;
  const { pod } = input;
  const settings = { ...settingsOf(input), ...(input.memoryQoS && { memoryQos: qosOf(input) }) };
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const actual = {
    containers: Object.fromEntries(
      containers.map((container) => [container.name, toProtoJson(linuxResources(pod, container, settings))]),
    ),
    sandbox: toProtoJson(sandboxResources(pod, settings)),
    overhead: toProtoJson(overheadResources(pod, settings)),
  };
  return check(out, actual, { operation: given });
};
