import { AgentError } from '../../base/errors.ts';
import { uidOf } from '../../kube/names.ts';
import type { Pod } from '../../kube/types.ts';
import type { ServerHost } from '../../server/host.ts';
import type { SimulatedProvider } from '../simulated-provider.ts';

/** The pods of a node that stages play. */
export interface PlayedPods {
  list(): readonly Pod[];
  /** Makes a provider without pods. */
  makeProvider(): SimulatedProvider;
}

/** Returns a provider with the containers that the pods' statuses describe. */
function providerOf(pods: readonly Pod[], played: PlayedPods): SimulatedProvider {
  const provider = played.makeProvider();
  for (const pod of pods) provider.adopt(pod);
  return provider;
}

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
    act: (provider: SimulatedProvider) => T,
    otherwise: (() => T) | undefined,
  ): T => {
    const pod = find(uid);
    if (pod) return act(providerOf([pod], played));
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
