import type { KubeObject, Pod } from '../../kube/types.ts';
import { type ApiClient, isNotFound } from '../../api/client.ts';
import { runtimeClassResource } from '../../api/resources.ts';
import { AgentError, messageOf } from '../../base/errors.ts';

interface RuntimeClass extends KubeObject {
  readonly handler?: string;
}

/**
 * RuntimeClasses finds the runtime handler of each pod by its runtime class; empty: the default handler.
 *
 * Follows kubelet `runtimeclass.Manager.LookupRuntimeHandler`.
 */
export class RuntimeClasses {
  readonly #client: Pick<ApiClient, 'get'>;
  /** Last known handler by class. */
  readonly #handlers = new Map<string, string>();

  constructor(client: Pick<ApiClient, 'get'>) {
    this.#client = client;
  }

  /** Returns the pod's handler. @throws {AgentError} when the class does not exist or cannot be read */
  async handlerOf({ spec }: Pod): Promise<string> {
    const name = spec?.runtimeClassName ?? '';
    if (name === '') return '';
    try {
      const { handler = '' } = await this.#client.get<RuntimeClass>(runtimeClassResource, { name });
      this.#handlers.set(name, handler);
      return handler;
    } catch (cause) {
      if (isNotFound(cause))
        throw new AgentError('not_found', `runtimeclass.node.k8s.io "${name}" not found`, { cause });
      throw new AgentError('unavailable', `failed to lookup RuntimeClass ${name}: ${messageOf(cause)}`, {
        cause,
      });
    }
  }

  /** Returns the last known handler without a request; `undefined` when it was not looked up yet. */
  knownHandlerOf({ spec }: Pod): string | undefined {
    const name = spec?.runtimeClassName ?? '';
    return name === '' ? '' : this.#handlers.get(name);
  }
}
