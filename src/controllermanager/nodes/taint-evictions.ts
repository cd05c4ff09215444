import { isNotFound } from '../../api/client.ts';
import { kinds } from '../../controller/kinds.ts';
import type { Result } from '../../controller/reconcile.ts';
import type { Request } from '../../controller/types.ts';
import { disruptionTarget } from '../../kube/disruption.ts';
import { nameOf, namespaceOf, uidOf } from '../workload/objects.ts';
import type { Node, Pod } from '../workload/types.ts';
import { patchPodStatus } from './pod-status.ts';
import type { NodeDeps } from './node-monitor.ts';
import { evictionDelay } from './node-taints.ts';

interface Eviction {
  readonly uid: string;
  readonly at: number;
  readonly isDone: boolean;
}

const idOf = ({ namespace, name }: Request): string => `${namespace}/${name}`;

const delayOf = (pod: Pod | undefined, node: Node | undefined): number | undefined =>
  evictionDelay(node?.spec?.taints ?? [], pod?.spec?.tolerations ?? []);

/** TaintEvictions deletes pods that do not tolerate the NoExecute taints of their node, or not any longer. */
export class TaintEvictions {
  readonly #deps: Omit<NodeDeps, 'logger'>;
  readonly #planned = new Map<string, Eviction>();

  constructor(deps: Omit<NodeDeps, 'logger'>) {
    this.#deps = deps;
  }

  /** Looks at a pod. The result says when to look again. */
  async reconcile(key: Request, signal: AbortSignal): Promise<Result | undefined> {
    const [pod, node] = await this.#read(key, signal);
    const delay = delayOf(pod, node);
    const planned = this.#planned.get(idOf(key));
    if (!pod || delay === undefined || (planned && planned.uid !== uidOf(pod))) this.#cancel(key);
    return !pod || delay === undefined ? undefined : this.#act(pod, { key, delay, signal });
  }

  /** Plans an eviction, and evicts the pod when its time has come. */
  async #act(
    pod: Pod,
    { key, delay, signal }: { readonly key: Request; readonly delay: number; readonly signal: AbortSignal },
  ): Promise<Result | undefined> {
    const now = this.#deps.clock.now();
    const [id, uid] = [idOf(key), uidOf(pod)];
    const planned = this.#planned.get(id);
    if (planned?.isDone) return undefined;
    // other tolerations do not move what is planned, only a taint that is not tolerated does
    const at = delay === 0 ? now : (planned?.at ?? now + delay);
    this.#planned.set(id, { uid, at, isDone: false });
    if (at > now) return { requeueAfter: at - now };
    if (await this.#evict(pod, signal)) this.#planned.set(id, { uid, at, isDone: true });
    else this.#planned.delete(id);
    return undefined;
  }

  async #read(key: Request, signal: AbortSignal): Promise<readonly [Pod | undefined, Node | undefined]> {
    let pod: Pod | undefined;
    try {
      pod = await this.#deps.client.get(kinds.Pod, key, { signal });
      const name = pod.spec?.nodeName ?? '';
      if (name === '') return [pod, undefined];
      return [pod, await this.#deps.client.get(kinds.Node, { name }, { signal })];
    } catch (reason) {
      if (isNotFound(reason)) return [pod, undefined];
      throw reason;
    }
  }

  #tell({ namespace, name }: Request, message: string): void {
    const object = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name } };
    this.#deps.events.event(object, 'Normal', 'TaintManagerEviction', `${message} ${namespace}/${name}`);
  }

  #cancel(key: Request): void {
    const planned = this.#planned.get(idOf(key));
    this.#planned.delete(idOf(key));
    if (planned && !planned.isDone) this.#tell(key, 'Cancelling deletion of Pod');
  }

  /** Deletes a pod. @returns false when it is gone */
  async #evict(pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { client, reader, clock } = this.#deps;
    this.#tell({ namespace: namespaceOf(pod), name: nameOf(pod) }, 'Marking for deletion Pod');
    try {
      const current = await reader.get(kinds.Pod, pod.metadata as Request, { signal });
      if (uidOf(current) !== uidOf(pod)) return false;
      const condition = disruptionTarget(current, {
        reason: 'DeletionByTaintManager',
        message: 'Taint manager: deleting due to NoExecute taint',
        now: clock.now(),
      });
      await patchPodStatus(client, current, { conditions: [condition] }, signal);
      await client.delete(kinds.Pod, current, { preconditions: { uid: uidOf(pod) }, signal });
      return true;
    } catch (reason) {
      if (isNotFound(reason)) return false;
      throw reason;
    }
  }
}
