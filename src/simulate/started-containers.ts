import type { Informer } from '../api/cache/informer.ts';
import type { Pod } from '../kube/types.ts';

/** Returns how many containers of a pod were started, as its status says. */
const startsOf = ({ status }: Pod): number =>
  [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].reduce(
    (sum, { state, restartCount }) =>
      sum + restartCount + Number(Boolean(state?.running ?? state?.terminated)),
    0,
  );

/** StartedContainers counts the containers that each node has started. Counting starts with the first query. */
export class StartedContainers {
  readonly #pods: Pick<Informer<Pod>, 'addHandler'>;
  readonly #counts = new Map<string, number>();
  #isCounting = false;

  constructor(pods: Pick<Informer<Pod>, 'addHandler'>) {
    this.#pods = pods;
  }

  /** Returns the number of containers of a node; those of pods that were gone before the first question are not part of it. */
  of(node: string): number {
    this.#count();
    return this.#counts.get(node) ?? 0;
  }

  #count(): void {
    if (this.#isCounting) return;
    this.#isCounting = true;
    const add = ({ spec }: Pod, starts: number): void => {
      const node = spec?.nodeName ?? '';
      if (starts > 0) this.#counts.set(node, (this.#counts.get(node) ?? 0) + starts);
    };
    this.#pods.addHandler({
      added: (pod) => {
        add(pod, startsOf(pod));
      },
      updated: (old, pod) => {
        add(pod, startsOf(pod) - startsOf(old));
      },
    });
  }
}
