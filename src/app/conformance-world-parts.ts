import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentError } from '../base/errors.ts';
import type { CallOptions } from '../provider/container-runtime.ts';
import type { ProbeResults, ProviderWorld } from '../conformance/world.ts';

/** A folder of its own for one law. */
export async function lawFolder(): Promise<{ readonly dir: string; readonly remove: () => Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'podtender-conformance-'));
  return { dir, remove: () => rm(dir, { recursive: true, force: true, maxRetries: 5 }) };
}

/** The call of a container runtime that fails for each call of its provider. */
const runtimeCalls = {
  listPods: 'listContainers',
  getPodStatus: 'listPodSandbox',
  killPod: 'stopContainer',
  syncPod: 'runPodSandbox',
} as const;

/** A call without an answer; as a remote one it rejects when it is cancelled. @param args one of them has the signal */
const untilCancelled = (args: readonly unknown[]): Promise<never> =>
  new Promise((_, reject) => {
    const { signal } = (args.findLast((one) => hasSignal(one)) ?? {}) as CallOptions;
    signal?.addEventListener('abort', () => {
      reject(AgentError.from(signal.reason));
    });
  });

const hasSignal = (argument: unknown): boolean =>
  typeof argument === 'object' && argument !== null && 'signal' in argument;

/** Calls of a backend that are made to fail or to hang, once each. */
export class CallFaults {
  readonly #methods: Readonly<Record<keyof typeof runtimeCalls, string>>;
  readonly #next = new Map<string, Error | 'hangs'>();

  /** @param methods the backend's method that fails for each call of its provider. Default: those of a container runtime */
  constructor(methods: Readonly<Record<keyof typeof runtimeCalls, string>> = runtimeCalls) {
    this.#methods = methods;
  }

  readonly failNext = (call: keyof typeof runtimeCalls, reason: Error): void => {
    this.#next.set(this.#methods[call], reason);
  };

  readonly hangNext: NonNullable<ProviderWorld['hangNext']> = (call) => {
    this.#next.set(this.#methods[call], 'hangs');
  };

  around<T extends object>(backend: T): T {
    return new Proxy(backend, {
      get: (of, name) => {
        const value: unknown = Reflect.get(of, name, of);
        if (typeof value !== 'function') return value;
        return (...args: readonly unknown[]): unknown => {
          const reason = this.#next.get(String(name));
          this.#next.delete(String(name));
          if (reason === 'hangs') return untilCancelled(args);
          return reason ? Promise.reject(reason) : (Reflect.apply(value, of, args) as unknown);
        };
      },
    });
  }
}

/** The results of probes of the node that is around a provider at the time. */
export class NodeProbes {
  #node: Parameters<NonNullable<ProviderWorld['useProbes']>>[0] | undefined;

  readonly use: NonNullable<ProviderWorld['useProbes']> = (results) => {
    this.#node = results;
  };

  readonly results: Record<'liveness' | 'startup', ProbeResults> = {
    liveness: { get: (id) => this.#node?.liveness.get(id) },
    startup: { get: (id) => this.#node?.startup.get(id) },
  };
}
