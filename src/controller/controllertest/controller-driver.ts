import { systemClock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import { settle } from '../../base/fake-clock.ts';
import { ObjectCache } from '../cache/object-cache.ts';
import type { Controller, Step } from '../controller/controller.ts';
import type { Manager } from '../manager/manager.ts';
import type { WaitingRequest } from '../queue/priority-queue.ts';

/** How long a step waits for the cache by default, ms of real time. */
const catchUpMs = 10_000;
/** The steps after which {@link ControllerDriver.run} gives up by default. */
const maxSteps = 1_000;

/**
 * ControllerDriver runs a manager whose controllers reconcile only when a test says so, one request at a time. Each step first waits until
 * the caches have what the API server has, so that a test needs neither sleeps nor polls. Give the controllers a `FakeClock`
 * (`controller: { clock }` in the manager's options), and requests with `requeueAfter` and retries wait until it is advanced.
 *
 * @example
 * const clock = new FakeClock();
 * const manager = new Manager({ connection: await env.start(), controller: { clock } });
 * const driver = new ControllerDriver(manager, controllerManagedBy(manager).for(Memcached).complete(reconciler));
 * await driver.start();
 * await manager.client.create(Memcached, { metadata: { namespace: 'default', name: 'web' }, spec: { size: 2 } });
 * const step = await driver.step(); // { request: { namespace: 'default', name: 'web' }, result: { requeueAfter: 60_000 }, … }
 * await clock.advance(60_000);
 * await driver.run();
 * await driver.stop();
 */
export class ControllerDriver {
  readonly #manager: Manager;
  readonly #controllers: readonly Controller[];
  readonly #stop = new AbortController();
  #ended: Promise<void> | undefined;

  /** @param controllers those of the manager that are driven; the others run by themselves */
  constructor(manager: Manager, ...controllers: readonly Controller[]) {
    if (controllers.length === 0)
      throw new AgentError(
        'invalid_argument',
        'ControllerDriver: name the controllers that are to be driven',
      );
    this.#manager = manager;
    this.#controllers = controllers;
    for (const controller of controllers) controller.drive();
  }

  /** Starts the manager; resolves when the controllers have the first lists of their sources. @throws when a part cannot start */
  async start(): Promise<void> {
    if (this.#ended) throw new AgentError('failed_precondition', 'the driver was started before');
    const ended = this.#manager.start(this.#stop.signal);
    this.#ended = ended;
    const failed = ended.then(() => {
      throw new AgentError('failed_precondition', 'the manager has stopped');
    });
    failed.catch(() => undefined);
    const synced = this.#controllers.map((controller) => controller.waitForSync(this.#stop.signal));
    await Promise.race([Promise.all(synced), failed]);
  }

  /**
   * Reconciles the next request that is due, of the first of the controllers that has one. Resolves to what it did, or to undefined when
   * nothing is due. An error of the reconciler is in the result.
   */
  async step(): Promise<Step | undefined> {
    await this.catchUp();
    for (const controller of this.#controllers) {
      const step = await controller.step(this.#stop.signal);
      if (step) return step;
    }
    return undefined;
  }

  /**
   * Reconciles until nothing is due.
   *
   * @throws {AgentError} `deadline_exceeded` after `max` steps: a controller that causes its own events does not come to rest
   */
  async run({ max = maxSteps }: { readonly max?: number } = {}): Promise<readonly Step[]> {
    const steps: Step[] = [];
    for (let step = await this.step(); step; step = await this.step()) {
      if (steps.length >= max)
        throw new AgentError(
          'deadline_exceeded',
          `the controllers have not come to rest after ${max} steps; the last was ${describe(step)}`,
        );
      steps.push(step);
    }
    return steps;
  }

  /** The requests that the next steps reconcile, in this order for each controller. */
  get due(): readonly WaitingRequest[] {
    return this.#waiting().filter(({ dueIn }) => dueIn === 0);
  }

  /** The requests that become due later: those with `requeueAfter`, and retries. */
  get delayed(): readonly WaitingRequest[] {
    return this.#waiting().filter(({ dueIn }) => dueIn > 0);
  }

  /**
   * Resolves when the caches have what the API server has now, and handlers have finished with its events. {@link step} calls it.
   *
   * @throws {AgentError} `deadline_exceeded` after 10 s of real time
   */
  async catchUp(): Promise<void> {
    const { cache } = this.#manager;
    if (!this.#ended)
      throw new AgentError('failed_precondition', 'the driver does not run: call start() first');
    if (!(cache instanceof ObjectCache)) return;
    const late = new AbortController();
    const stopTimer = systemClock.timer(catchUpMs, () => {
      late.abort(
        new AgentError(
          'deadline_exceeded',
          `the caches have not caught up with the server after ${catchUpMs} ms`,
        ),
      );
    });
    try {
      const signal = AbortSignal.any([late.signal, this.#stop.signal]);
      while (!(await cache.isCurrent(signal))) await settle();
      for (const controller of this.#controllers) await controller.waitForHandlers(signal);
    } finally {
      stopTimer();
    }
    await settle();
  }

  /** Stops the manager. @throws its first failure */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  #waiting(): readonly WaitingRequest[] {
    return this.#controllers.flatMap(({ queue }) => queue.waiting);
  }
}

const describe = ({ request: { namespace, name }, controller, causes }: Step): string =>
  `${controller} of ${namespace}/${name}, by ${causes.map(({ type, source }) => `${type} (${source})`).join(', ')}`;
