import type { Node, Pod } from '../kube/types.ts';

/** The numbers of a simulation. */
export interface SimulationCounts {
  readonly nodes: number;
  readonly nodesReady: number;
  readonly pods: number;
  readonly podsReady: number;
}

/** ReadyCount counts objects and how many of them are ready, as they change. */
export class ReadyCount<T extends { readonly metadata?: { readonly uid?: string } }> {
  readonly #isReady: (object: T) => boolean;
  readonly #ready = new Set<string>();
  #total = 0;

  constructor(isReady: (object: T) => boolean) {
    this.#isReady = isReady;
  }

  get total(): number {
    return this.#total;
  }

  get ready(): number {
    return this.#ready.size;
  }

  added(object: T): void {
    this.#total += 1;
    this.updated(object);
  }

  updated(object: T): void {
    const uid = object.metadata?.uid ?? '';
    if (this.#isReady(object)) this.#ready.add(uid);
    else this.#ready.delete(uid);
  }

  deleted(object: T): void {
    this.#total -= 1;
    this.#ready.delete(object.metadata?.uid ?? '');
  }
}

interface WithConditions {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const isReady = ({ status }: WithConditions): boolean =>
  status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true;

export const nodeIsReady = (node: Node): boolean => isReady(node);

export const podIsReady = (pod: Pod): boolean => isReady(pod);
