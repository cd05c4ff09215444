import { isMirrorPod, nameOf, uidOf } from '../../../src/kube/names.ts';
import type { ContainerStatus, Pod } from '../../../src/kube/types.ts';

const order = ['Pending', 'Running', 'Succeeded', 'Failed'];
const hasEnded = (phase: string): boolean => phase === 'Succeeded' || phase === 'Failed';

interface Told {
  phase: string;
  readonly restarts: Map<string, number>;
}

/** The history of all pods in the API server; a change that cannot follow from the previous state is a fault. */
export class History {
  readonly faults: string[] = [];
  readonly #told = new Map<string, Told>();
  /** The pods that users deleted: only these may disappear. */
  readonly #unwanted = new Set<string>();

  /** Records that a user deleted this pod. */
  unwanted(uid: string): void {
    this.#unwanted.add(uid);
  }

  seen(pod: Pod): void {
    if (isMirrorPod(pod)) return; // created again whenever its manifest changes
    const told = this.#of(pod);
    const phase = pod.status?.phase ?? 'Pending';
    if (hasEnded(told.phase) ? phase !== told.phase : order.indexOf(phase) < order.indexOf(told.phase))
      this.#fault(pod, `its phase went from ${told.phase} back to ${phase}`);
    told.phase = phase;
    for (const status of statusesOf(pod)) this.#restarts(pod, told, status);
  }

  gone(pod: Pod): void {
    if (!isMirrorPod(pod) && !this.#unwanted.has(uidOf(pod)))
      this.#fault(pod, 'it was deleted though nobody asked for that');
  }

  #restarts(pod: Pod, told: Told, { name, restartCount }: ContainerStatus): void {
    const before = told.restarts.get(name) ?? 0;
    if (restartCount < before)
      this.#fault(pod, `the restarts of ${name} went from ${before} back to ${restartCount}`);
    told.restarts.set(name, restartCount);
  }

  #of(pod: Pod): Told {
    const told = this.#told.get(uidOf(pod)) ?? { phase: 'Pending', restarts: new Map<string, number>() };
    this.#told.set(uidOf(pod), told);
    return told;
  }

  #fault(pod: Pod, what: string): void {
    this.faults.push(`pod ${nameOf(pod)} (${uidOf(pod)}): ${what}`);
  }
}

export const statusesOf = ({ status }: Pod): readonly ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];
