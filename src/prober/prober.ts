import { messageOf } from '../base/errors.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { Container, PodStatus } from '../kube/types.ts';
import type { ProbeTarget } from './probe-step.ts';
import type { ProbeType } from './update-pod-status.ts';
import type { Clock, StopTimer } from '../base/clock.ts';

/** The outcome of one run of a probe. */
export interface ProbeAnswer {
  readonly outcome: 'success' | 'warning' | 'failure' | 'unknown';
  /** The probe's output, or why it failed. */
  readonly output: string;
}

/** The input of a probe handler. */
export interface ProbeCall {
  readonly target: ProbeTarget;
  /** The pod's address; `''` while it has none. */
  readonly podIp: string;
  /** `type://id` */
  readonly containerId: string;
  readonly timeoutMs: number;
}

/** Runs one kind of probe once. Throws when the probe could not be run. */
export type ProbeHandler = (call: ProbeCall) => Promise<ProbeAnswer>;

/** The handlers of the four kinds of probes. */
export interface ProbeHandlers {
  readonly exec: ProbeHandler;
  readonly httpGet: ProbeHandler;
  readonly tcpSocket: ProbeHandler;
  readonly grpc: ProbeHandler;
}

/** The maximum number of runs within one attempt when the probe could not be run. */
const maxTries = 3;
const defaultTimeoutSeconds = 1;

const titles: Readonly<Record<ProbeType, string>> = {
  liveness: 'Liveness',
  readiness: 'Readiness',
  startup: 'Startup',
};

/**
 * Prober runs probes and reports failures and warnings as Events.
 *
 * Follows kubelet `prober.probe` (R237).
 */
export class Prober {
  readonly #handlers: ProbeHandlers;
  readonly #recorder: EventRecorder;

  constructor(handlers: ProbeHandlers, recorder: EventRecorder) {
    this.#handlers = handlers;
    this.#recorder = recorder;
  }

  /** Runs a probe. @returns `undefined` when it could not be run */
  async probe(
    target: ProbeTarget,
    status: PodStatus,
    containerId: string,
  ): Promise<'Success' | 'Failure' | undefined> {
    const timeoutMs = (target.probe.timeoutSeconds ?? defaultTimeoutSeconds) * 1000;
    const call = { target, containerId, timeoutMs, podIp: status.podIP ?? '' };
    const title = titles[target.type];
    try {
      const { outcome, output } = await this.#run(call);
      if (outcome === 'warning') this.#warn(target, 'ProbeWarning', `${title} probe warning: ${output}`);
      if (outcome === 'failure') this.#warn(target, 'Unhealthy', `${title} probe failed: ${output}`);
      return outcome === 'success' || outcome === 'warning' ? 'Success' : 'Failure';
    } catch (reason) {
      const why = `${title} probe errored and resulted in unknown state: ${messageOf(reason)}`;
      this.#warn(target, 'Unhealthy', why);
      return undefined;
    }
  }

  #warn({ pod, container }: ProbeTarget, reason: string, message: string): void {
    this.#recorder.event(pod, 'Warning', reason, message, { fieldPath: fieldPathOf(container, pod.spec) });
  }

  async #run(call: ProbeCall): Promise<ProbeAnswer> {
    for (let tries = 1; ; tries++)
      try {
        return await this.#handlerOf(call)(call);
      } catch (reason) {
        if (tries === maxTries) throw reason;
      }
  }

  #handlerOf({ target: { probe, container } }: ProbeCall): ProbeHandler {
    for (const kind of ['exec', 'httpGet', 'tcpSocket', 'grpc'] as const)
      if (probe[kind]) return this.#handlers[kind];
    throw new Error(`missing probe handler for ${container.name}`);
  }
}

/** The field path of the container for the Event's involved object (R281). */
function fieldPathOf(container: Container, spec: ProbeTarget['pod']['spec']): string {
  const list = spec?.initContainers?.some(({ name }) => name === container.name)
    ? 'initContainers'
    : 'containers';
  return `spec.${list}{${container.name}}`;
}

/**
 * Calls `fn` after `ms`, unless stopped before. Input that has already arrived is processed first, so that a delay of this process does not
 * fail the probe of a pod.
 */
export function deadline(clock: Clock, ms: number, fn: () => void): StopTimer {
  let last: NodeJS.Immediate | undefined;
  const stop = clock.timer(ms, () => {
    last = setImmediate(fn);
  });
  return () => {
    stop();
    clearImmediate(last);
  };
}
