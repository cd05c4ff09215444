import type { Pod } from '../../kube/types.ts';

/**
 * How a container of the memory provider behaves, as data. All durations in ms.
 * @example
 * const failing: MemoryBehaviour = { ...behaviourOf(pod, 'app'), runMs: 5000, exitCode: 1 };
 */
export interface MemoryBehaviour {
  /** Time between creation and start. */
  readonly startDelayMs: number;
  /** Time between start and exit; absent: it runs until it is stopped. */
  readonly runMs?: number;
  /** Exit code when it exits by itself. */
  readonly exitCode: number;
  /** Time between the stop signal and the exit; above the grace period, it is killed with exit code 137. */
  readonly stopDelayMs: number;
  /** Exit code when it is stopped. */
  readonly stopExitCode: number;
  /** Exit code of commands that run in it, such as exec probes. */
  readonly execExitCode: number;
  /** Number of starts that fail before one succeeds. */
  readonly startFailures: number;
  /** Memory usage while it runs. */
  readonly memoryBytes: number;
  /** Usage of its writable layer while it runs. */
  readonly diskBytes: number;
}

/** Prefix of annotations that set a behaviour, for the pod or one container: `podtender.io/memory.[NAME.]run-ms`. */
export const memoryAnnotation = 'podtender.io/memory.';

const keys: Readonly<Record<keyof MemoryBehaviour, string>> = {
  startDelayMs: 'start-delay-ms',
  runMs: 'run-ms',
  exitCode: 'exit-code',
  stopDelayMs: 'stop-delay-ms',
  stopExitCode: 'stop-exit-code',
  execExitCode: 'exec-exit-code',
  startFailures: 'start-failures',
  memoryBytes: 'memory-bytes',
  diskBytes: 'disk-bytes',
};

const regular: MemoryBehaviour = {
  startDelayMs: 0,
  exitCode: 0,
  stopDelayMs: 0,
  stopExitCode: 0,
  execExitCode: 0,
  startFailures: 0,
  memoryBytes: 0,
  diskBytes: 0,
};

/**
 * Returns the behaviour of a container from the pod's annotations: its own override the pod's. By default, a regular container
 * or sidecar runs until it is stopped, and an init container succeeds at once. Values that are not numbers are ignored.
 */
export const behaviourOf = (pod: Pod, container: string): MemoryBehaviour => behavioursOf(pod)(container);

/** Returns {@link behaviourOf} for repeated use with one pod. */
export function behavioursOf(pod: Pod): (container: string) => MemoryBehaviour {
  const annotations = pod.metadata?.annotations ?? {};
  const done = new Set(
    pod.spec?.initContainers?.flatMap(({ name, restartPolicy }) =>
      restartPolicy === 'Always' ? [] : [name],
    ),
  );
  // Most pods have no such annotation, and there may be thousands of pods.
  const isExplicit = Object.keys(annotations).some((key) => key.startsWith(memoryAnnotation));
  return (container) => {
    const defaults = done.has(container) ? { ...regular, runMs: 0 } : regular;
    return isExplicit ? { ...defaults, ...annotatedOf(annotations, container) } : defaults;
  };
}

function annotatedOf(
  annotations: Readonly<Record<string, string>>,
  container: string,
): Partial<Record<string, number>> {
  const own = (key: string): string | undefined =>
    Object.hasOwn(annotations, key) ? annotations[key] : undefined;
  const entries = Object.entries(keys).flatMap(([field, key]) => {
    const text = own(`${memoryAnnotation}${container}.${key}`) ?? own(`${memoryAnnotation}${key}`);
    const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
    return Number.isFinite(value) && value >= 0 ? [[field, value] as const] : [];
  });
  return Object.fromEntries(entries);
}
