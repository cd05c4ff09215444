import type { KubeObject, Pod } from '../../kube/types.ts';
import { type ApiClient, isNotFound } from '../../api/client.ts';
import { runtimeClassResource } from '../../api/resources.ts';
import { AgentError, messageOf } from '../../base/errors.ts';

interface RuntimeClass extends KubeObject {
  readonly handler?: string;
}

/**
 * The runtime's handler for each pod, by its runtime class; empty: the default one.
 *
 * Follows kubelet `runtimeclass.Manager.LookupRuntimeHandler`.
 */
export class RuntimeClasses {
  readonly #client: Pick<ApiClient, 'get'>;
  /** Handlers by class, as they were last. */
  readonly #known = new Map<string, string>();

  constructor(client: Pick<ApiClient, 'get'>) {
    this.#client = client;
  }

  /** @throws {AgentError} the class is not there, or cannot be read */
  async handlerOf({ spec }: Pod): Promise<string> {
    const name = spec?.runtimeClassName ?? '';
    if (name === '') return '';
    try {
      const { handler = '' } = await this.#client.get<RuntimeClass>(runtimeClassResource, { name });
      this.#known.set(name, handler);
      return handler;
    } catch (cause) {
      if (isNotFound(cause))
        throw new AgentError('not_found', `runtimeclass.node.k8s.io "${name}" not found`, { cause });
      throw new AgentError('unavailable', `failed to lookup RuntimeClass ${name}: ${messageOf(cause)}`, {
        cause,
      });
    }
  }

  /** The handler without asking anybody; absent: it was not looked up yet. */
  knownHandlerOf({ spec }: Pod): string | undefined {
    const name = spec?.runtimeClassName ?? '';
    return name === '' ? '' : this.#known.get(name);
  }
}
