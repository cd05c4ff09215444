import type { Container } from '../kube/types.ts';
import type { Middleware } from '../provider/middleware.ts';
import { isSelected, type PodSelection } from './context.ts';

/** Variables for the containers of selected pods. */
export interface EnvImportRule extends PodSelection {
  /** The names of the containers; absent: all containers. */
  readonly containers?: readonly string[];
  readonly env?: NonNullable<Container['env']>;
  readonly envFrom?: NonNullable<Container['envFrom']>;
}

/** The settings of {@link envImport}. */
export interface EnvImportSettings {
  /** The rules; of two that set the same variable the later one wins. A variable of the container itself always wins. */
  readonly rules?: readonly EnvImportRule[];
  /**
   * Adds `CONTAINER_CPU_LIMIT` (cores, rounded up) and `CONTAINER_MEM_LIMIT` (bytes), as the kubelet resolves `limits.cpu` and
   * `limits.memory`. Default: false.
   */
  readonly limits?: boolean;
}

/**
 * Adds environment variables to containers of pods that a selector matches. References (`valueFrom`, `envFrom`) are resolved when a container
 * starts, so that a changed config map restarts nothing.
 *
 * @example
 * envImport({ rules: [{ selector: { matchLabels: { app: 'web' } }, envFrom: [{ configMapRef: { name: 'site' } }] }] });
 */
export const envImport = ({ rules = [], limits = false }: EnvImportSettings): Middleware => ({
  name: 'envImport',
  containerOptions: ({ pod, container }) => {
    const matching = rules.filter(
      (rule) => isSelected(rule, pod) && (rule.containers?.includes(container.name) ?? true),
    );
    if (matching.length === 0 && !limits) return undefined;
    const own = new Set((container.env ?? []).map(({ name }) => name));
    const env = new Map(
      [...(limits ? limitsOf(container) : []), ...matching.flatMap((rule) => rule.env ?? [])]
        .filter(({ name }) => !own.has(name))
        .map((variable) => [variable.name, variable]),
    );
    return { env: [...env.values()], envFrom: matching.flatMap(({ envFrom = [] }) => envFrom) };
  },
});

const limitsOf = ({ name: containerName }: Container): NonNullable<Container['env']> => [
  {
    name: 'CONTAINER_CPU_LIMIT',
    valueFrom: { resourceFieldRef: { containerName, resource: 'limits.cpu' } },
  },
  {
    name: 'CONTAINER_MEM_LIMIT',
    valueFrom: { resourceFieldRef: { containerName, resource: 'limits.memory' } },
  },
];
