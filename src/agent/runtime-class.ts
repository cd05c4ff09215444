import type { Pod } from '../kube/types.ts';
import type { AgentOptions } from './agent-options.ts';
import type { PodHost } from '../pods/pod-host.ts';
import type { RuntimeHelperDeps } from './runtime-helper.ts';
import { RuntimeClasses } from '../containers/objects/runtime-class-manager.ts';

/** The runtime handlers of pods, for the other subsystems of an agent. */
export interface RuntimeClassParts {
  readonly helper: Pick<RuntimeHelperDeps, 'runtimeHandler' | 'supportsRecursiveReadOnly'>;
  readonly pods: Required<Pick<PodHost, 'supportsRecursiveReadOnly'>>;
}

/** Makes the access to RuntimeClasses and to the features of the runtime's handlers. */
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
