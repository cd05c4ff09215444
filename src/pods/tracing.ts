import type { SpanAttributes, Tracer } from '../base/tracing.ts';
import { traced } from '../base/tracing.ts';
import { keyOf, uidOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import type { PodSyncer } from '../podworkers/pod-syncer.ts';
import { withMethods } from '../provider/guarded-provider.ts';
import type { ContainerRef } from '../provider/refs.ts';
import type { PodProvider } from '../provider/provider.ts';
import type { RuntimePod } from '../provider/runtime-pod.ts';
import type { ProbeControl, ReferencedObjects } from './sync-pod.ts';

/**
 * Wraps a syncer with a span around each step, each in its own trace. A step whose outcome has an error counts as failed too.
 *
 * Names and attributes are the kubelet's (`syncPod`, `syncTerminatingPod`, `syncTerminatedPod`).
 */
export function tracedSyncer(syncer: PodSyncer, tracer: Tracer): PodSyncer {
  const step = <T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T> =>
    traced(tracer, name, { parent: 'none', attributes }, work);
  return {
    syncPod: (order, signal) => {
      const attributes = { ...attributesOf(order.pod), 'k8s.pod.update_type': order.updateType };
      return traced(tracer, 'syncPod', { parent: 'none', attributes }, async (span) => {
        const outcome = await syncer.syncPod(order, signal);
        if (outcome.error) span.end(outcome.error);
        return outcome;
      });
    },
    syncTerminatingPod: (order, signal) =>
      step('syncTerminatingPod', attributesOf(order.pod), () => syncer.syncTerminatingPod(order, signal)),
    syncTerminatingRuntimePod: (running, signal) =>
      step('syncTerminatingRuntimePod', attributesOfRunning(running), () =>
        syncer.syncTerminatingRuntimePod(running, signal),
      ),
    syncTerminatedPod: (order, signal) =>
      step('syncTerminatedPod', attributesOf(order.pod), () => syncer.syncTerminatedPod(order, signal)),
  };
}

const attributesOf = (pod: Pod): SpanAttributes => ({
  'k8s.pod.uid': uidOf(pod),
  'k8s.pod': keyOf(pod),
  'k8s.pod.name': pod.metadata?.name ?? '',
  'k8s.namespace.name': pod.metadata?.namespace ?? '',
});

const attributesOfRunning = ({ uid, name, namespace }: RuntimePod): SpanAttributes => ({
  'k8s.pod.uid': uid,
  'k8s.pod': `${namespace}/${name}`,
  'k8s.pod.name': name,
  'k8s.namespace.name': namespace,
});

/**
 * Wraps a provider with a span around each call that acts on a pod, as a child of the step or request that makes it. Calls that only read
 * have no span, because they are made every second.
 */
export function tracedProvider<P extends PodProvider>(provider: P, tracer: Tracer): P {
  const exec = provider.exec?.bind(provider);
  const attach = provider.attach?.bind(provider);
  const portForward = provider.portForward?.bind(provider);
  const execSync = provider.execSync?.bind(provider);
  const checkpoint = provider.checkpoint?.bind(provider);
  const act = <T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T> =>
    traced(tracer, `PodProvider/${name}`, { attributes }, work);
  const own: Partial<PodProvider> = {
    syncPod: (request, signal) =>
      traced(tracer, 'PodProvider/syncPod', { attributes: attributesOf(request.pod) }, async (span) => {
        const result = await provider.syncPod(request, signal);
        if (result.error) span.end(result.error);
        return result;
      }),
    killPod: (pod, running, gracePeriodSeconds, signal) =>
      act('killPod', attributesOfRunning(running), () =>
        provider.killPod(pod, running, gracePeriodSeconds, signal),
      ),
    ...(execSync && {
      execSync: (container, command, timeoutMs) =>
        act('execSync', attributesOfContainer(container), () => execSync(container, command, timeoutMs)),
    }),
    ...(exec && {
      exec: (container, command, io, signal) =>
        act('exec', attributesOfContainer(container), () => exec(container, command, io, signal)),
    }),
    ...(attach && {
      attach: (container, io, signal) =>
        act('attach', attributesOfContainer(container), () => attach(container, io, signal)),
    }),
    ...(checkpoint && {
      checkpoint: (container, path, timeoutSeconds, signal) =>
        act('checkpoint', attributesOfContainer(container), () =>
          checkpoint(container, path, timeoutSeconds, signal),
        ),
    }),
    ...(portForward && {
      portForward: (pod, port, stream, signal) =>
        act('portForward', { 'k8s.pod.uid': pod.uid, 'server.port': port }, () =>
          portForward(pod, port, stream, signal),
        ),
    }),
  };
  return withMethods(provider, own);
}

const attributesOfContainer = ({ podUid, namespace, pod, container }: ContainerRef): SpanAttributes => ({
  'k8s.pod.uid': podUid,
  'k8s.pod.name': pod,
  'k8s.namespace.name': namespace,
  'k8s.container.name': container,
});

/** Detaches probe workers from the span of the step that starts them, because they outlive it. */
export const detachedProbes = (probes: ProbeControl, tracer: Tracer): ProbeControl => ({
  addPod: (pod) => {
    tracer.detached(() => {
      probes.addPod(pod);
    });
  },
  stopLivenessAndStartup: (pod) => {
    probes.stopLivenessAndStartup(pod);
  },
  removePod: (pod) => {
    probes.removePod(pod);
  },
});

/** Detaches the watches of referenced objects from the span of the step that starts them, because they outlive it. */
export const detachedObjects = (objects: ReferencedObjects, tracer: Tracer): ReferencedObjects => ({
  register: (pod) => {
    tracer.detached(() => {
      objects.register(pod);
    });
  },
  unregister: (pod) => {
    objects.unregister(pod);
  },
});
