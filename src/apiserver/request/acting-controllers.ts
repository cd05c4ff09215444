import { type JsonObject, objectAt } from '../../apimachinery/json.ts';
import type { Kind } from '../../apimachinery/kinds.ts';

/** Kinds that have no effect without a controller. */
const needingController: ReadonlySet<string> = new Set([
  'apps/deployments',
  'apps/replicasets',
  'apps/statefulsets',
  'apps/daemonsets',
  '/replicationcontrollers',
  'batch/jobs',
  'batch/cronjobs',
  'autoscaling/horizontalpodautoscalers',
]);

/** What acts on objects beside this server. */
export interface Beside {
  /** Whether controllers of every kind run. */
  readonly externalControllers?: boolean;
  /** Whether nodes have a proxy for Services; default: true. */
  readonly serviceProxy?: boolean;
}

const keyOf = ({ group, resource }: Pick<Kind, 'group' | 'resource'>): string => `${group}/${resource}`;

/**
 * ActingControllers records for which kinds a controller runs. A client that creates an object of a workload kind without one receives a
 * warning.
 *
 * @example
 * world.acting.declare({ group: 'apps', resource: 'deployments' }); // when the controller starts
 */
export class ActingControllers {
  readonly #acting = new Set<string>();
  readonly #beside: Beside;

  constructor(beside: Beside = {}) {
    this.#beside = beside;
  }

  /** Declares that a controller for the kind runs; the returned function declares that it has stopped. */
  declare(kind: Pick<Kind, 'group' | 'resource'>): () => void {
    const key = keyOf(kind);
    this.#acting.add(key);
    return () => void this.#acting.delete(key);
  }

  /** Reports whether a controller for the kind has been declared. */
  actsOn(kind: Pick<Kind, 'group' | 'resource'>): boolean {
    return this.#acting.has(keyOf(kind));
  }

  /** Returns the warning for the creator of an object; `undefined`: a controller runs, or the kind needs none. */
  warningFor(kind: Kind, object: JsonObject): string | undefined {
    const key = keyOf(kind);
    if (key === '/services') return this.#beside.serviceProxy === false ? serviceWarning(object) : undefined;
    if (this.#beside.externalControllers || this.#acting.has(key) || !needingController.has(key))
      return undefined;
    return `no controller for kind ${kind.kind} runs with this API server: the object is stored, but nothing acts on it`;
  }
}

/** Returns the warning about a Service with an address that leads nowhere; undefined for one without its own address. */
function serviceWarning(service: JsonObject): string | undefined {
  const { type, clusterIP } = objectAt(service, 'spec');
  if (type === 'ExternalName' || clusterIP === 'None') return undefined;
  return 'no proxy for Services runs on this node: the cluster IP and node ports lead nowhere; use "kubectl port-forward", or the addresses of the endpoints';
}
