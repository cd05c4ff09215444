import type { Pod } from '../../kube/types.ts';

/** How a container of the memory provider behaves: data instead of a program. All spans in ms. */
export interface MemoryBehaviour {
  /** From its creation to its start. */
  readonly startDelayMs: number;
  /** From its start to its end; absent: until it is stopped. */
  readonly runMs?: number;
  /** With which it ends by itself. */
  readonly exitCode: number;
  /** From the stop signal to its end; more than the grace period: it is killed then, exit code 137. */
  readonly stopDelayMs: number;
  /** With which it ends when it is stopped. */
  readonly stopExitCode: number;
  /** Of every command that is run in it, as exec probes do. */
  readonly execExitCode: number;
  /** So many times it fails to start first. */
  readonly startFailures: number;
  /** What it uses while it runs. */
  readonly memoryBytes: number;
  /** Of its writable layer, while it runs. */
  readonly diskBytes: number;
}

/** Begins the annotations that set a behaviour, for the whole pod or one container: `podtender.io/memory.[NAME.]run-ms`. */
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
 * What the pod's annotations say of one container: its own before the pod's, and where neither says a thing, a regular container
 * or sidecar runs until it is stopped and an init container succeeds at once. What is no number counts as unsaid.
 */
export const behaviourOf = (pod: Pod, container: string): MemoryBehaviour => behavioursOf(pod)(container);

/** {@link behaviourOf} for many containers of a pod in turn. */
export function behavioursOf(pod: Pod): (container: string) => MemoryBehaviour {
  const annotations = pod.metadata?.annotations ?? {};
  const done = new Set(
    pod.spec?.initContainers?.flatMap(({ name, restartPolicy }) =>
      restartPolicy === 'Always' ? [] : [name],
    ),
  );
  // most pods say nothing, and there may be thousands
  const isExplicit = Object.keys(annotations).some((key) => key.startsWith(memoryAnnotation));
  return (container) => {
    const defaults = done.has(container) ? { ...regular, runMs: 0 } : regular;
    return isExplicit ? { ...defaults, ...saidOf(annotations, container) } : defaults;
  };
}

function saidOf(
  annotations: Readonly<Record<string, string>>,
  container: string,
): Partial<Record<string, number>> {
  const own = (key: string): string | undefined =>
    Object.hasOwn(annotations, key) ? annotations[key] : undefined;
  const said = Object.entries(keys).flatMap(([field, key]) => {
    const text = own(`${memoryAnnotation}${container}.${key}`) ?? own(`${memoryAnnotation}${key}`);
    const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
    return Number.isFinite(value) && value >= 0 ? [[field, value] as const] : [];
  });
  return Object.fromEntries(said);
}
