import { messageOf } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import { findContainer } from '../../../kube/container-fields.ts';
import { goQuote } from '../../../go/go-quote.ts';
import { uidOf } from '../../../kube/names.ts';
import { formatQuantity, milliQuantity, quantityOf } from '../../../kube/resources/quantity.ts';
import type { ResourceList } from '../../../kube/resources/resources.ts';
import type { Container, Pod, ResourceRequirements } from '../../../kube/types.ts';
import type { ContainerRuntime } from '../../../provider/container-runtime.ts';
import type { PodActions, ResourceNumbers } from '../actions/pod-actions.ts';
import type { ActuatedStore } from './actuated.ts';
import { podText } from '../../container/backoff.ts';
import { runtimeId } from '../config/convert.ts';
import type { PodCgroupAccess, RuntimeHelper } from '../helper.ts';
import { podUidLabel } from '../config/labels.ts';
import {
  growth,
  memoryFault,
  type MemoryInUse,
  type PodCgroupChange,
  resizePlan,
  type ResizeStep,
  shrinksMemory,
} from './resize-plan.ts';
import {
  linuxResources,
  overheadResources,
  type ResourceSettings,
  sandboxResources,
} from '../config/resources.ts';
import { podUsage } from '../usage.ts';

export interface PodResizeDeps {
  readonly runtime: Pick<
    ContainerRuntime,
    'updateContainerResources' | 'updatePodSandboxResources' | 'listContainerStats'
  >;
  readonly runtimeName: string;
  readonly helper: Pick<RuntimeHelper, 'podCgroup'>;
  readonly actuated: ActuatedStore;
  readonly resources: ResourceSettings;
  readonly logger: Logger;
}

/**
 * PodResize changes CPU and memory of a running pod. Each applied step is recorded; what fails is retried by the next sync.
 *
 * Follows `doPodResizeAction` (pkg/kubelet/kuberuntime).
 */
export class PodResize {
  readonly #deps: PodResizeDeps;
  readonly #pod: Pod;
  readonly #actions: PodActions;
  readonly #signal: AbortSignal;

  constructor(deps: PodResizeDeps, pod: Pod, actions: PodActions, signal: AbortSignal) {
    this.#deps = deps;
    this.#pod = pod;
    this.#actions = actions;
    this.#signal = signal;
  }

  /** Applies the changes. @throws when a limit would fall below the usage, or the kernel or the runtime rejects a change */
  async run(): Promise<void> {
    const { helper, actuated } = this.#deps;
    const cgroup = helper.podCgroup?.limits(this.#pod);
    if (shrinksMemory(this.#actions, cgroup)) await this.#checkMemory(cgroup);
    for (const step of resizePlan(this.#actions, cgroup)) await this.#take(step, helper.podCgroup);
    for (const update of this.#updates())
      actuated.set(this.#pod, { name: update.name, resources: this.#container(update.name).resources ?? {} });
    actuated.setPod(this.#pod);
    await actuated.save();
  }

  /** Grows the pod's cgroup to fit the containers about to start. */
  async makeRoom(): Promise<void> {
    const { helper, logger } = this.#deps;
    try {
      const limits = helper.podCgroup ? growth(helper.podCgroup.limits(this.#pod)) : {};
      if (Object.keys(limits).length > 0) await this.#take({ type: 'pod', limits }, helper.podCgroup);
    } catch (reason) {
      logger.warn('the cgroup of a pod cannot grow', { pod: podText(this.#pod), err: messageOf(reason) });
    }
  }

  async #checkMemory(cgroup: PodCgroupChange | undefined): Promise<void> {
    const fault = memoryFault(this.#actions, cgroup, await this.#memoryInUse());
    if (fault !== undefined) throw new Error(fault);
  }

  async #memoryInUse(): Promise<MemoryInUse> {
    const { runtime, runtimeName, helper } = this.#deps;
    const uid = uidOf(this.#pod);
    const filter = { labelSelector: { [podUidLabel]: uid } };
    const usage = (await podUsage(runtime, runtimeName, filter)).find((one) => one.uid === uid);
    const containers = new Map(
      (usage?.containers ?? []).flatMap(({ name, memoryBytes, workingSetBytes }) => {
        const bytes = memoryBytes ?? workingSetBytes;
        return bytes === undefined ? [] : [[name, bytes] as const];
      }),
    );
    const pod = helper.podCgroup?.memoryUsage(this.#pod);
    return { containers, ...(pod !== undefined && { pod }) };
  }

  async #take(step: ResizeStep, cgroup: PodCgroupAccess | undefined): Promise<void> {
    if (step.type === 'pod') {
      await cgroup?.set(this.#pod, step.limits);
      await this.#tellSandbox();
      return;
    }
    const { runtime, actuated, resources } = this.#deps;
    const { id, name } = step.update;
    const container = { ...this.#container(name), resources: this.#requirements(name, step.resources) };
    const linux = linuxResources(this.#pod, container, resources);
    await runtime.updateContainerResources?.({ containerId: runtimeId(id), linux }, { signal: this.#signal });
    actuated.set(this.#pod, container);
    await actuated.save();
  }

  /** Updates the sandbox's resources, which virtual machine runtimes need. Errors are ignored, as most runtimes do not support it. */
  async #tellSandbox(): Promise<void> {
    const { runtime, resources, logger } = this.#deps;
    try {
      await runtime.updatePodSandboxResources?.(
        {
          podSandboxId: this.#actions.sandboxId,
          overhead: overheadResources(this.#pod, resources),
          resources: sandboxResources(this.#pod, resources),
        },
        { signal: this.#signal },
      );
    } catch (reason) {
      logger.debug('the runtime took no notice of the pod sandbox resources', { err: messageOf(reason) });
    }
  }

  #updates(): readonly { readonly name: string }[] {
    const { cpu, memory } = this.#actions.containersToUpdate;
    return [...memory, ...cpu];
  }

  #container(name: string): Container {
    const container = findContainer(this.#pod, name);
    if (container) return container;
    throw new Error(`pod ${goQuote(podText(this.#pod))} has no container ${goQuote(name)}`);
  }

  /** Returns a step's values as resource requirements; the container's other resources are left unchanged. */
  #requirements(name: string, numbers: ResourceNumbers): ResourceRequirements {
    const { limits, requests, ...rest } = this.#container(name).resources ?? {};
    return {
      ...rest,
      limits: listOf(limits, numbers.cpuLimitMilli, numbers.memoryLimit),
      requests: listOf(requests, numbers.cpuRequestMilli, numbers.memoryRequest),
    };
  }
}

/** Returns a resource list; a value of 0 is included only when the spec has the resource. */
function listOf(spec: ResourceList = {}, cpuMilli: number, memory: number): ResourceList {
  const { cpu, memory: bytes, ...rest } = spec;
  return {
    ...rest,
    ...((cpuMilli > 0 || cpu !== undefined) && { cpu: formatQuantity(milliQuantity(cpuMilli)) }),
    ...((memory > 0 || bytes !== undefined) && { memory: formatQuantity(quantityOf(memory, 'BinarySI')) }),
  };
}
