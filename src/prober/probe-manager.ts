import type { Clock } from '../base/clock.ts';
import type { Members } from '../base/members.ts';
import type { Random } from '../base/random.ts';
import { isRestartableInitContainer } from '../kube/restart-policy.ts';
import { uidOf } from '../kube/names.ts';
import type { Container, Pod, PodStatus, Probe } from '../kube/types.ts';
import type { ProbeTarget } from './probe-step.ts';
import { ProbeWorker } from './probe-worker.ts';
import { ProbeResults } from './results.ts';
import { type ProbedStatus, type ProbeType, updatePodStatus } from './update-pod-status.ts';

/** The dependencies of {@link ProbeManager}. */
export interface ProbeManagerDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** The pod's newest status, from the status manager. */
  statusOf(uid: string): PodStatus | undefined;
  /** Runs a probe and reports failures as Events. Returns `undefined` when the probe could not be run. Never throws. */
  readonly prober: {
    probe(
      target: ProbeTarget,
      status: PodStatus,
      containerId: string,
    ): Promise<'Success' | 'Failure' | undefined>;
  };
}

const probeTypes: readonly ProbeType[] = ['startup', 'readiness', 'liveness'];

const probeOf = (container: Container, type: ProbeType): Probe | undefined =>
  ({
    startup: container.startupProbe,
    readiness: container.readinessProbe,
    liveness: container.livenessProbe,
  })[type];

/**
 * ProbeManager runs a worker for every probe of every pod that may run, and holds their results.
 *
 * Follows kubelet `prober.Manager` (R236…R240).
 */
export class ProbeManager {
  readonly #deps: ProbeManagerDeps;
  readonly #startedAt: number;
  /** The workers, by pod UID, then by `container/type`. */
  readonly #workers = new Map<string, Map<string, ProbeWorker>>();
  /** The results of each kind of probe; the sync loop subscribes to their updates (R44). */
  readonly results: Readonly<Record<ProbeType, ProbeResults>> = {
    startup: new ProbeResults(),
    readiness: new ProbeResults(),
    liveness: new ProbeResults(),
  };

  constructor(deps: ProbeManagerDeps) {
    this.#deps = deps;
    this.#startedAt = deps.clock.now();
  }

  /** The names of all workers, `uid/container/type`. */
  get workers(): readonly string[] {
    return [...this.#workers].flatMap(([uid, workers]) => [...workers.keys()].map((key) => `${uid}/${key}`));
  }

  /** Starts the probes of the pod's containers and sidecars. Has no effect on probes that already run. */
  addPod(pod: Pod): void {
    for (const container of probedContainers(pod))
      for (const type of probeTypes) {
        const probe = probeOf(container, type);
        if (!probe) continue;
        if (this.#workers.get(uidOf(pod))?.has(`${container.name}/${type}`)) return;
        this.#start({ type, pod, container, probe });
      }
  }

  #start(target: ProbeTarget): void {
    const uid = uidOf(target.pod);
    const key = `${target.container.name}/${target.type}`;
    const { clock, random, prober } = this.#deps;
    const worker = new ProbeWorker(target, {
      clock,
      random,
      results: this.results[target.type],
      managerStartedAt: this.#startedAt,
      statusOf: (of) => this.#deps.statusOf(of),
      probe: (...call) => prober.probe(...call),
      onEnd: () => {
        this.#forget(uid, key);
      },
    });
    const workers = this.#workers.get(uid) ?? new Map<string, ProbeWorker>();
    this.#workers.set(uid, workers.set(key, worker));
    worker.start();
  }

  #forget(uid: string, key: string): void {
    const workers = this.#workers.get(uid);
    workers?.delete(key);
    if (workers?.size === 0) this.#workers.delete(uid);
  }

  /** Stops the liveness and startup probes of a terminating pod; readiness probes and all probes of sidecars go on (R155b). */
  stopLivenessAndStartup(pod: Pod): void {
    if (!this.#workers.has(uidOf(pod))) return;
    const ending = new Set(
      pod.spec?.containers.flatMap(({ name }) => [`${name}/liveness`, `${name}/startup`]),
    );
    this.#stop(uidOf(pod), (key) => ending.has(key));
  }

  removePod(pod: Pod): void {
    this.#stop(uidOf(pod), () => true);
  }

  /** Stops the probes of pods that can no longer run (R71). */
  cleanupPods(possiblyRunning: Members): void {
    for (const uid of [...this.#workers.keys()]) if (!possiblyRunning.has(uid)) this.#stop(uid, () => true);
  }

  #stop(uid: string, which: (key: string) => boolean): void {
    for (const [key, worker] of [...(this.#workers.get(uid) ?? [])]) if (which(key)) worker.stop();
  }

  /** Runs the readiness probes of these containers at once; containers without one are ignored. */
  probeNow(uid: string, containers: readonly string[]): void {
    for (const container of containers) this.#workers.get(uid)?.get(`${container}/readiness`)?.probeNow();
  }

  /** Sets `started` and `ready` in a status from the probe results, and returns the probes that should run at once (R240). */
  updatePodStatus(pod: Pod, status: PodStatus): ProbedStatus {
    const workers = this.#workers.get(uidOf(pod));
    return updatePodStatus(pod, status, {
      startedAt: this.#startedAt,
      resultOf: (type, containerId) => this.results[type].get(containerId),
      hasWorker: (type, container) => workers?.has(`${container}/${type}`) ?? false,
    });
  }
}

const probedContainers = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.containers ?? []),
  ...(spec?.initContainers ?? []).filter(isRestartableInitContainer),
];
