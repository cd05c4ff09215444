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
  readonly #reports = new Map<string, Told>();
  /** The pods that users deleted: only these may disappear. */
  readonly #unwanted = new Set<string>();

  /** Records that a user deleted this pod. */
  unwanted(uid: string): void {
    this.#unwanted.add(uid);
  }

  seen(pod: Pod): void {
    if (isMirrorPod(pod)) return; // created again whenever its manifest changes
    const report = this.#of(pod);
    const phase = pod.status?.phase ?? 'Pending';
    if (hasEnded(report.phase) ? phase !== report.phase : order.indexOf(phase) < order.indexOf(report.phase))
      this.#fault(pod, `its phase went from ${report.phase} back to ${phase}`);
    report.phase = phase;
    for (const status of statusesOf(pod)) this.#restarts(pod, report, status);
  }

  gone(pod: Pod): void {
    if (!isMirrorPod(pod) && !this.#unwanted.has(uidOf(pod)))
      this.#fault(pod, 'it was deleted though nobody asked for that');
  }

  #restarts(pod: Pod, report: Told, { name, restartCount }: ContainerStatus): void {
    const before = report.restarts.get(name) ?? 0;
    if (restartCount < before)
      this.#fault(pod, `the restarts of ${name} went from ${before} back to ${restartCount}`);
    report.restarts.set(name, restartCount);
  }

  #of(pod: Pod): Told {
    const report = this.#reports.get(uidOf(pod)) ?? { phase: 'Pending', restarts: new Map<string, number>() };
    this.#reports.set(uidOf(pod), report);
    return report;
  }

  #fault(pod: Pod, what: string): void {
    this.faults.push(`pod ${nameOf(pod)} (${uidOf(pod)}): ${what}`);
  }
}

export const statusesOf = ({ status }: Pod): readonly ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];
