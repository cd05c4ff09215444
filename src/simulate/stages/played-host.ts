import { AgentError } from '../../base/errors.ts';
import { uidOf } from '../../kube/names.ts';
import type { ContainerStatus, Pod } from '../../kube/types.ts';
import type { ServerHost } from '../../server/host.ts';
import type { SimulatedProvider } from '../simulated-provider.ts';

/** The pods of a node that stages play. */
export interface PlayedPods {
  list(): readonly Pod[];
  /** Makes a provider without pods. */
  makeProvider(): SimulatedProvider;
  /** Calls `changed` at each change of a pod, without one when it is gone; the returned function ends that. */
  follow(uid: string, changed: (pod?: Pod) => void): () => void;
}

/** Returns a provider with the containers that the pods' statuses describe. */
function providerOf(pods: readonly Pod[], played: PlayedPods): SimulatedProvider {
  const provider = played.makeProvider();
  for (const pod of pods) provider.adopt(pod);
  return provider;
}

/** Calls `act` with a provider of one pod, whose containers end when the pod's status says so. */
async function withProvider<T>(
  pod: Pod,
  played: PlayedPods,
  act: (provider: SimulatedProvider) => Promise<T>,
): Promise<T> {
  const provider = providerOf([pod], played);
  const uid = uidOf(pod);
  const off = played.follow(uid, (next) => {
    for (const { name, restartCount } of containersOf(pod)) {
      const now = next && containersOf(next).find((one) => one.name === name);
      if (now?.state?.running && now.restartCount === restartCount) continue;
      provider.endContainer(uid, name, now?.state?.terminated?.exitCode ?? killedCode);
    }
  });
  try {
    return await act(provider);
  } finally {
    off();
  }
}

/** The exit code of a container that is gone with its pod. */
const killedCode = 137;

const containersOf = ({ status = {} }: Pod): readonly ContainerStatus[] => [
  ...(status.initContainerStatuses ?? []),
  ...(status.containerStatuses ?? []),
  ...(status.ephemeralContainerStatuses ?? []),
];

/** Returns the usage of the host's pods and of those that stages play. */
function usageOf({ usage }: ServerHost, played: PlayedPods): Pick<ServerHost, 'usage'> {
  if (!usage) return {};
  return {
    usage: async () => {
      const { pods, ...rest } = await usage();
      return { ...rest, pods: [...pods, ...(await providerOf(played.list(), played).listUsage())] };
    },
  };
}

/** Returns the host of a node's kubelet API with the pods that stages play: their containers are those of their statuses. */
export function withPlayedPods(host: ServerHost, played: PlayedPods): ServerHost {
  const find = (uid: string): Pod | undefined => played.list().find((pod) => uidOf(pod) === uid);
  /** Calls `act` with a provider that has the pod, or `otherwise` for a pod of the kubelet. */
  const choose = <T>(
    uid: string,
    act: (provider: SimulatedProvider) => Promise<T>,
    otherwise: (() => Promise<T>) | undefined,
  ): Promise<T> => {
    const pod = find(uid);
    if (pod) return withProvider(pod, played, act);
    if (otherwise) return otherwise();
    throw new AgentError('not_found', 'the pod does not run');
  };
  const { readLog, exec, attach, portForward } = host;
  return {
    ...host,
    pods: () => [...host.pods(), ...played.list()],
    podByName: (namespace, name) =>
      host.podByName(namespace, name) ??
      played.list().find(({ metadata }) => metadata?.namespace === namespace && metadata.name === name),
    runningPods: async () => [
      ...(await host.runningPods()),
      ...(await providerOf(played.list(), played).listPods()),
    ],
    ...usageOf(host, played),
    readLog: (request, sink, signal) =>
      choose(
        uidOf(request.pod),
        (provider) => provider.readLogs(request.container, request.options, sink, signal),
        readLog && (() => readLog(request, sink, signal)),
      ),
    exec: (container, command, io, signal) =>
      choose(
        container.podUid,
        (provider) => provider.exec(container, command, io, signal),
        exec && (() => exec(container, command, io, signal)),
      ),
    attach: (container, io, signal) =>
      choose(
        container.podUid,
        (provider) => provider.attach(container, io, signal),
        attach && (() => attach(container, io, signal)),
      ),
    portForward: (uid, port, stream, signal) =>
      choose(
        uid,
        async (provider) => {
          const { name = '', namespace = '' } = find(uid)?.metadata ?? {};
          await provider.portForward(
            await provider.getPodStatus({ uid, name, namespace }),
            port,
            stream,
            signal,
          );
        },
        portForward && (() => portForward(uid, port, stream, signal)),
      ),
  };
}
