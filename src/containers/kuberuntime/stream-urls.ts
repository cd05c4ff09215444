import { AgentError } from '../../base/errors.ts';
import type { ContainerRuntime } from '../../provider/container-runtime.ts';
import type { StreamUrls } from '../../provider/powers.ts';
import { runtimeId } from './config/convert.ts';

/**
 * Returns streaming URLs of the runtime's own streaming server (`GetExec`, `GetAttach`, `GetPortForward`, pkg/kubelet/kuberuntime).
 *
 * @param sandboxOf returns the id of a pod's ready sandbox
 */
export function streamUrls(
  runtime: ContainerRuntime,
  sandboxOf: (podUid: string) => Promise<string>,
): StreamUrls {
  return {
    async exec({ id }, cmd, io) {
      if (!runtime.exec) throw unable('run commands');
      return urlOf(await runtime.exec({ containerId: runtimeId(id), cmd, ...io }));
    },
    async attach({ id }, io) {
      if (!runtime.attach) throw unable('attach');
      return urlOf(await runtime.attach({ containerId: runtimeId(id), ...io }));
    },
    async portForward(podUid, ports) {
      if (!runtime.portForward) throw unable('forward ports');
      return urlOf(await runtime.portForward({ podSandboxId: await sandboxOf(podUid), port: ports }));
    },
  };
}

const unable = (what: string): AgentError => new AgentError('unimplemented', `the runtime cannot ${what}`);

function urlOf({ url = '' }: { readonly url?: string }): URL {
  if (URL.canParse(url)) return new URL(url);
  throw new AgentError('internal', `the runtime returned an invalid streaming URL: "${url}"`);
}
