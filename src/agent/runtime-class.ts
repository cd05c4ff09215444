import type { Pod } from '../kube/types.ts';
import type { AgentOptions } from './agent-options.ts';
import type { PodHost } from '../pods/pod-host.ts';
import type { RuntimeHelperDeps } from './runtime-helper.ts';
import { RuntimeClasses } from '../containers/objects/runtime-class-manager.ts';

/** What the handlers of pods are to the parts of an agent. */
export interface RuntimeClassParts {
  readonly helper: Pick<RuntimeHelperDeps, 'runtimeHandler' | 'supportsRecursiveReadOnly'>;
  readonly pods: Required<Pick<PodHost, 'supportsRecursiveReadOnly'>>;
}

/** The runtime classes of the API server, and what the runtime's handlers can do. */
export function buildRuntimeClasses({
  client,
  node,
}: Pick<AgentOptions, 'client' | 'node'>): RuntimeClassParts {
  const classes = client && new RuntimeClasses(client);
  const supportsRecursiveReadOnly = (handler: string): boolean =>
    node?.handlers?.().some((one) => one.name === handler && one.recursiveReadOnlyMounts) ?? false;
  return {
    helper: {
      ...(classes && { runtimeHandler: (pod: Pod) => classes.handlerOf(pod) }),
      supportsRecursiveReadOnly,
    },
    pods: {
      supportsRecursiveReadOnly: (pod) => {
        const handler = classes ? classes.knownHandlerOf(pod) : '';
        return handler !== undefined && supportsRecursiveReadOnly(handler);
      },
    },
  };
}
