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

/** What the probe manager needs. */
export interface ProbeManagerDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** The pod's status as last known (the status manager's). */
  statusOf(uid: string): PodStatus | undefined;
  /** Runs a probe and tells of failures; `undefined`: it gave no answer. Never throws. */
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
 * Keeps a worker for every probe of every pod that may run, and the results of all of them.
 *
 * Follows kubelet `prober.Manager` (R236…R240).
 */
export class ProbeManager {
  readonly #deps: ProbeManagerDeps;
  readonly #startedAt: number;
  /** By pod UID, then `container/type`. */
  readonly #workers = new Map<string, Map<string, ProbeWorker>>();
  /** What each kind of probe says; the sync loop listens to their updates (R44). */
  readonly results: Readonly<Record<ProbeType, ProbeResults>> = {
    startup: new ProbeResults(),
    readiness: new ProbeResults(),
    liveness: new ProbeResults(),
  };

  constructor(deps: ProbeManagerDeps) {
    this.#deps = deps;
    this.#startedAt = deps.clock.now();
  }

  /** Names of all workers, `uid/container/type`. */
  get workers(): readonly string[] {
    return [...this.#workers].flatMap(([uid, workers]) => [...workers.keys()].map((key) => `${uid}/${key}`));
  }

  /** Starts what is not there yet: probes of containers and sidecars. A pod whose probes run already is left alone. */
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

  /** The containers of a pod that terminates are still asked whether they are ready, but no longer restarted (R155b). Sidecars are. */
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

  /** R71: stops the probes of pods that cannot run. */
  cleanupPods(possiblyRunning: Members): void {
    for (const uid of [...this.#workers.keys()]) if (!possiblyRunning.has(uid)) this.#stop(uid, () => true);
  }

  #stop(uid: string, which: (key: string) => boolean): void {
    for (const [key, worker] of [...(this.#workers.get(uid) ?? [])]) if (which(key)) worker.stop();
  }

  /** Has the readiness probes of these containers run at once; those without one are left out. */
  probeNow(uid: string, containers: readonly string[]): void {
    for (const container of containers) this.#workers.get(uid)?.get(`${container}/readiness`)?.probeNow();
  }

  /** The status with `started` and `ready` as the probes see them, and the probing that it calls for (R240). */
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
